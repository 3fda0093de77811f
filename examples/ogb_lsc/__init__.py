"""OGB-LSC: three tracks, each with a public and a sealed split, at the true sizes or in small."""

import random
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from examples.pcqm4mv2_small.generate import Sizes, Split, generate
from examples.pcqm4mv2_small.smiles import parse, write
from examples.tracks.graphs import KnowledgeGraph, Papers
from examples.tracks.track import (
    Arrays,
    BoardColumn,
    Check,
    Data,
    MiniSplit,
    Question,
    Size,
    Track,
    TrackPhase,
    permuted,
)

HERE = Path(__file__).resolve().parent
SLUG, TITLE = "ogb-lsc", "OGB Large-Scale Challenge"
SUBTITLE = "Node classification, link prediction and graph regression on graphs of real size"
DESCRIPTION = """Three datasets, three kinds of tasks. A person is in one team in each track; the tracks are ranked apart.

Every track has two test splits: **test-dev**, whose leaderboard is open and shows each score at once, and **test-challenge**, whose
scores stay sealed until the organizers reveal them. The data here are generated; formats, metrics and rules are those of the challenge.
"""
TEST_ITEMS = {
    "lsc-mag240m": {"test-dev": 88_092, "test-challenge": 58_726},
    "lsc-wikikg90mv2": {"test-dev": 15_000, "test-challenge": 10_000},
    "lsc-pcqm4mv2": {"test-dev": 147_037, "test-challenge": 147_432},
}
SMALL_TEST = {"test-dev": 300, "test-challenge": 200}
CHALLENGE, HELD_OUT = "test-challenge", "held-out"
HELD_OUT_ITEMS = {"small": 200, "true": 10_000}
MINI, MINI_ITEMS = "mini", 20
PAPERS = Papers()
ENTITIES, RELATIONS = 91_230_610, 1_387  # of WikiKG90Mv2
REGISTRATION = (
    Question("real_name", "Your real name"),
    Question("affiliation", "Affiliation (university, company, or independent)"),
    Question("honour_code", "What I say here and with my submissions is true and follows the rules", "checkbox"),
)
FACT_SHEET = (
    Question("method", "Name of the method", is_on_board=True),
    Question(
        "code_url",
        "Public repository with the code, at the commit that made this submission",
        "repository",
        is_public=True,
    ),
    Question("report_url", "Technical report (arXiv or PDF)", is_required=False),
    Question("parameters", "Number of trainable parameters"),
    Question("validation_score", "Score on the validation split"),
    Question("hardware", "CPU, GPU and memory", is_public=True),
    Question(
        "no_external_data",
        "Only the provided data were used, and no model that was trained on other data",
        "checkbox",
        is_public=True,
    ),
    Question("no_test_labels", "No test item was labelled by hand or looked up", "checkbox", is_public=True),
)
INFERENCE = Question("inference_time", "Measured inference time on test-challenge, from raw SMILES", is_public=True)


def _sizes(dataset: str, size: Size) -> dict[str, int]:
    return TEST_ITEMS[dataset] if size == "true" else SMALL_TEST


def mag240m(size: Size, seed: int) -> Data:
    """Papers with features and citations; hidden: the subject areas of the test papers."""
    counts = {"train": 40_000 if size == "true" else 6_000, **_sizes("lsc-mag240m", size)}
    drawn = {name: PAPERS.draw(count, seed, name) for name, count in counts.items()}
    public: dict[str, Arrays] = {f"{name}.npz": {"x": arrays["x"]} for name, arrays in drawn.items() if name != "train"}
    public["train.npz"] = drawn["train"]
    public["citations.npz"] = {"edge_index": PAPERS.cite(drawn["train"]["y"], seed)}
    labels = {split: {"y_true": drawn[split]["y"]} for split in SMALL_TEST}
    unseen = PAPERS.draw(HELD_OUT_ITEMS[size], seed, HELD_OUT)
    held_out = Check(CHALLENGE, "held_out", {"x": unseen["x"]}, {"y_true": unseen["y"]})
    few = PAPERS.draw(MINI_ITEMS, seed, MINI)
    mini = MiniSplit({"x": few["x"]}, {"y_true": few["y"]})
    return Data(public, labels, _checks(public, labels, seed, held_out), mini)


def wikikg90mv2(size: Size, seed: int) -> Data:
    """Triples of a knowledge graph; hidden: the tails of the test queries."""
    graph = KnowledgeGraph(ENTITIES, RELATIONS if size == "true" else 40)
    train = graph.draw(400_000 if size == "true" else 20_000, seed, "train")
    public = {"train.npz": {"hrt": train}}
    labels, slices = {}, {}
    for split, count in _sizes("lsc-wikikg90mv2", size).items():
        triples = graph.draw(count, seed, split)
        public[f"{split}.npz"] = {"hr": triples[:, :2]}
        labels[split] = {"t": triples[:, 2]}
        slices[split] = {"relation type": triples[:, 1]}
    unseen = graph.draw(HELD_OUT_ITEMS[size], seed, HELD_OUT)
    held_out = Check(CHALLENGE, "held_out", {"hr": unseen[:, :2]}, {"t": unseen[:, 2]})
    few = graph.draw(MINI_ITEMS, seed, MINI)
    mini = MiniSplit({"hr": few[:, :2]}, {"t": few[:, 2]})
    return Data(public, labels, _checks(public, labels, seed, held_out), mini, slices)


def pcqm4mv2(size: Size, seed: int) -> Data:
    """Molecules as SMILES; hidden: their HOMO-LUMO gaps in eV."""
    splits = generate(
        Sizes(*((20_000, 5_000) if size == "true" else (1_000, 100)), *_sizes("lsc-pcqm4mv2", size).values()), seed=seed
    )
    public = {
        f"{name}.npz": {"smiles": np.array(split.smiles), "homolumogap": split.gaps}
        for name, split in splits.items()
        if name not in SMALL_TEST
    }
    public |= {f"{name}.npz": {"smiles": np.array(splits[name].smiles)} for name in SMALL_TEST}
    labels = {name: {"y_true": splits[name].gaps} for name in SMALL_TEST}
    checks = (_spelled_otherwise(splits[CHALLENGE], seed), _unseen_molecules(splits, size, seed))
    few, gaps = splits["valid"].smiles[:MINI_ITEMS], splits["valid"].gaps[:MINI_ITEMS]
    mini = MiniSplit({"smiles": np.array(few)}, {"y_true": gaps})
    slices = {
        name: {"heavy atoms": np.array([len(parse(smiles)) for smiles in splits[name].smiles])} for name in SMALL_TEST
    }
    return Data(public, labels, _checks(public, labels, seed, *checks), mini, slices)


def _spelled_otherwise(split: Split, seed: int) -> Check:
    """The same molecules in other SMILES spellings: the same predictions are expected."""
    rng = random.Random(f"{seed} spellings")
    smiles = np.array([write(parse(text), rng) for text in split.smiles])
    return Check(CHALLENGE, "perturbed", {"smiles": smiles}, {"y_true": split.gaps}, tolerance=0.05)


def _unseen_molecules(splits: Mapping[str, Split], size: Size, seed: int) -> Check:
    """Molecules that are in no other split."""
    known = {smiles for split in splits.values() for smiles in split.smiles}
    drawn = generate(Sizes(1, 1, 1, HELD_OUT_ITEMS[size]), seed=seed + 1)[CHALLENGE]
    rows = [row for row, smiles in enumerate(drawn.smiles) if smiles not in known]
    smiles = np.array([drawn.smiles[row] for row in rows])
    return Check(CHALLENGE, "held_out", {"smiles": smiles}, {"y_true": drawn.gaps[rows]})


def _checks(public: Mapping[str, Arrays], labels: Mapping[str, Arrays], seed: int, *others: Check) -> tuple[Check, ...]:
    return permuted(CHALLENGE, public[f"{CHALLENGE}.npz"], labels[CHALLENGE], seed), *others


def _phases(presets: str = "") -> tuple[TrackPhase, ...]:
    """The two phases; `presets` begins the names of the ready settings that hold at the true size."""
    dev, challenge = (f"{presets}-{split}" if presets else None for split in SMALL_TEST)
    return (
        TrackPhase(
            "test-dev", "Scores appear at once; one submission a week.", rule="Force_Best", per_week=1, preset=dev
        ),
        TrackPhase(
            "test-challenge",
            "Files are checked at once; scores stay sealed until the reveal. The last submission counts.",
            visibility="sealed",
            rule="Force_Last",
            preset=challenge,
        ),
    )


TRACKS = (
    Track(
        slug="ogb-lsc-mag240m",
        title="OGB-LSC: MAG240M",
        subtitle="Predict the subject areas of papers in a citation graph",
        dataset="lsc-mag240m",
        program="lsc-mag240m",
        columns=(BoardColumn("acc", "Accuracy"),),
        phases=_phases(),
        folder=HERE,
        generate=mag240m,
        baseline=HERE / "baseline_mag240m.py",
        rows=TEST_ITEMS["lsc-mag240m"],
        takes_code=True,
        registration=REGISTRATION,
        fact_sheet=FACT_SHEET,
    ),
    Track(
        slug="ogb-lsc-wikikg90mv2",
        title="OGB-LSC: WikiKG90Mv2",
        subtitle="Complete a knowledge graph of 91 million entities",
        dataset="lsc-wikikg90mv2",
        program="lsc-wikikg90mv2",
        columns=(BoardColumn("mrr", "MRR"),),
        phases=_phases(),
        folder=HERE,
        generate=wikikg90mv2,
        baseline=HERE / "baseline_wikikg90mv2.py",
        rows=TEST_ITEMS["lsc-wikikg90mv2"],
        takes_code=True,
        registration=REGISTRATION,
        fact_sheet=FACT_SHEET,
    ),
    Track(
        slug="ogb-lsc-pcqm4mv2",
        title="OGB-LSC: PCQM4Mv2",
        subtitle="Predict the HOMO-LUMO gap of molecules from SMILES strings",
        dataset="lsc-pcqm4mv2",
        program="lsc-pcqm4mv2",
        columns=(BoardColumn("mae", "MAE", "asc", "eV"),),
        phases=_phases("pcqm4mv2"),
        folder=HERE,
        generate=pcqm4mv2,
        baseline=HERE / "baseline_pcqm4mv2.py",
        rows=TEST_ITEMS["lsc-pcqm4mv2"],
        takes_code=True,
        registration=REGISTRATION,
        fact_sheet=(*FACT_SHEET, INFERENCE),
    ),
)
