"""The datasets: task, scores, inputs, sizes and where that comes from."""

from typing import Final, Literal, TypedDict

from scoring.metrics import metric
from scoring.metrics.metric import Direction

Role = Literal["reference", "prediction"]
Family = Literal["ogbn", "ogbl", "ogbg", "lsc", "obl", "metric"]
Sizes = Literal["official", "as published", "nominal", "free"]


class Score(TypedDict):
    """One score: its key, which way is better, its unit, its range and what a perfect answer scores."""

    key: str
    direction: Direction
    unit: str
    range: tuple[float | None, float | None]
    best: float | None
    meaning: str


class Input(TypedDict):
    """One array: its name, its shape (text where the length is free), its type, and who supplies it."""

    name: str
    shape: list[int | str]
    dtype: str
    role: Role
    meaning: str


class Description(TypedDict):
    """Everything `scoring.describe` says; plain values only, so it can go into JSON as it is.

    `classes` counts classes, or the entities that may be predicted.
    """

    name: str
    family: Family
    task: str
    primary: str
    metrics: list[Score]
    inputs: list[Input]
    classes: int | None
    splits: dict[str, int | None]
    sizes_are: Sizes
    source: str


def describe_score(name: str, key: str, unit: str = "", meaning: str = "") -> Score:
    """A metric of the catalogue as one score of a dataset, under its official key.

    >>> describe_score("mae", "mae", unit="eV")["direction"]
    'min'
    """
    known = metric(name)
    return {
        "key": key,
        "direction": known.direction,
        "unit": unit or known.unit or ("share" if known.range == (0.0, 1.0) else ""),
        "range": known.range,
        "best": known.perfect,
        "meaning": meaning or f"{known.title}. {known.help}",
    }


def _share(key: str, meaning: str) -> Score:
    return {"key": key, "direction": "max", "unit": "share", "range": (0.0, 1.0), "best": 1.0, "meaning": meaning}


ACC: Final = describe_score("accuracy", "acc", meaning="accuracy: share of exact matches")
ROC_AUC: Final = describe_score(
    "mean_roc_auc", "rocauc", meaning="area under the ROC curve, mean over tasks with both classes"
)
AP: Final = describe_score(
    "mean_average_precision", "ap", meaning="average precision (step-wise), mean over tasks with both classes"
)
MAE: Final = describe_score("mae", "mae", unit="eV")
MRR: Final = _share("mrr", "mean reciprocal rank")
H10: Final = _share("h10", "Hits@10 over head and tail queries")
F1: Final = [
    _share("F1", "mean F1 of the word sets"),
    _share("precision", "mean precision"),
    _share("recall", "mean recall"),
]
MRR_FAMILY: Final = [MRR, *(_share(f"hits@{k}", f"share of ranks up to {k}") for k in (1, 3, 10))]


def hits(k: int) -> Score:
    """The score ``hits@k``.

    >>> hits(50)["key"]
    'hits@50'
    """
    return _share(f"hits@{k}", f"share of positives above the {k}-th highest negative")


def _array(name: str, shape: list[int | str], dtype: str, role: Role, meaning: str) -> Input:
    return {"name": name, "shape": shape, "dtype": dtype, "role": role, "meaning": meaning}


def _label_inputs(tasks: int, truth: str, prediction: str) -> list[Input]:
    return [
        _array("y_true", ["rows", tasks], truth, "reference", "labels, NaN where there is none"),
        _array("y_pred", ["rows", tasks], prediction, "prediction", "one value per label"),
    ]


def vector_inputs(truth: str, prediction: str, meaning: str) -> list[Input]:
    """Two arrays of one value a row, the true and the predicted ones.

    >>> [entry["name"] for entry in vector_inputs("int64", "int16", "class of each paper")]
    ['y_true', 'y_pred']
    """
    return [
        _array("y_true", ["rows"], truth, "reference", meaning),
        _array("y_pred", ["rows"], prediction, "prediction", meaning),
    ]


def _score_inputs(candidates: int | None) -> list[Input]:
    shape: list[int | str] = ["negatives"] if candidates is None else ["rows", candidates]
    return [
        _array("y_pred_pos", ["rows"], "float32", "prediction", "score of each true edge"),
        _array("y_pred_neg", shape, "float32", "prediction", "score of each false edge"),
    ]


OGB: Final = "Hu et al. (2020), Open Graph Benchmark, NeurIPS 33; evaluator of ogb 1.3.6"
LSC: Final = "Hu et al. (2021), OGB-LSC, NeurIPS Datasets and Benchmarks; evaluator of ogb 1.3.6"
OBL: Final = "Breit et al. (2020), OpenBioLink, Bioinformatics 36(13); evaluator of openbiolink 0.1.4"
_FAMILIES: Final[dict[str, tuple[Family, str]]] = {
    "ogbn": ("ogbn", OGB),
    "ogbl": ("ogbl", OGB),
    "ogbg": ("ogbg", OGB),
    "lsc": ("lsc", LSC),
    "obl": ("obl", OBL),
}

NODES: Final[dict[str, tuple[str, Score, int, int, int, int, int]]] = {
    # name: task, score, tasks, classes, train, valid, test
    "ogbn-proteins": ("112 protein functions per protein", ROC_AUC, 112, 2, 86_619, 21_236, 24_679),
    "ogbn-products": ("category of each product", ACC, 1, 47, 196_615, 39_323, 2_213_091),
    "ogbn-arxiv": ("subject area of each paper", ACC, 1, 40, 90_941, 29_799, 48_603),
    "ogbn-mag": ("venue of each paper", ACC, 1, 349, 629_571, 64_879, 41_939),
    "ogbn-papers100M": ("subject area of each arXiv paper", ACC, 1, 172, 1_207_179, 125_265, 214_338),
}

MOLECULES: Final[dict[str, tuple[str, Score, int, int, bool]]] = {
    # name: task, score, tasks, test graphs, whether that number is nominal (80/10/10 of the total)
    "ogbg-molhiv": ("inhibition of HIV replication", ROC_AUC, 1, 4_113, False),
    "ogbg-molpcba": ("128 bioassays", AP, 128, 43_793, False),
    "ogbg-molmuv": ("17 virtual screening assays", AP, 17, 9_309, True),
    "ogbg-molbace": ("inhibition of beta-secretase 1", ROC_AUC, 1, 152, True),
    "ogbg-molbbbp": ("passage of the blood-brain barrier", ROC_AUC, 1, 204, True),
    "ogbg-molclintox": ("clinical toxicity", ROC_AUC, 2, 148, True),
    "ogbg-molsider": ("27 side effects of drugs", ROC_AUC, 27, 143, True),
    "ogbg-moltox21": ("12 toxicity assays", ROC_AUC, 12, 784, True),
    "ogbg-moltoxcast": ("617 toxicity assays", ROC_AUC, 617, 858, True),
    "ogbg-molchembl": ("1,310 assays of ChEMBL", ROC_AUC, 1_310, 45_600, True),
    "ogbg-molesol": ("solubility in water", describe_score("rmse", "rmse", unit="log mol/L"), 1, 113, True),
    "ogbg-molfreesolv": ("hydration free energy", describe_score("rmse", "rmse", unit="kcal/mol"), 1, 65, True),
    "ogbg-mollipo": ("lipophilicity", describe_score("rmse", "rmse", unit="log D"), 1, 420, False),
}

POOLED_EDGES: Final[dict[str, tuple[str, Score, int, bool]]] = {
    # name: task, score, test positives, whether that number is nominal
    "ogbl-ppa": ("protein-protein associations", hits(100), 3_031_780, False),
    "ogbl-collab": ("collaborations of authors", hits(50), 46_329, False),
    "ogbl-ddi": ("drug-drug interactions", hits(20), 133_489, False),
    "ogbl-vessel": ("vessels of the mouse brain", ROC_AUC, 534_590, True),
}

RANKED_EDGES: Final[dict[str, tuple[str, int, int]]] = {
    # name: task, candidates per item, items (heads and tails together for the two knowledge graphs)
    "ogbl-citation2": ("citations missing from a paper", 1_000, 86_596),
    "ogbl-wikikg2": ("missing triples of Wikidata", 500, 2 * 598_543),
    "ogbl-biokg": ("missing triples of a biomedical graph", 500, 2 * 162_870),
}


def _dataset(
    name: str,
    task: str,
    scores: list[Score],
    inputs: list[Input],
    splits: dict[str, int | None],
    *,
    classes: int | None = None,
    sizes_are: Sizes = "official",
) -> Description:
    family, source = next(kind for prefix, kind in _FAMILIES.items() if name.startswith(prefix))
    return {
        "name": name,
        "family": family,
        "task": task,
        "primary": scores[0]["key"],
        "metrics": scores,
        "inputs": inputs,
        "classes": classes,
        "splits": splits,
        "sizes_are": sizes_are,
        "source": source,
    }


def _node(name: str) -> Description:
    task, score, tasks, classes, train, valid, test = NODES[name]
    splits: dict[str, int | None] = {"train": train, "valid": valid, "test": test}
    inputs = _label_inputs(tasks, "float32 or int64", "float32 or int64")
    return _dataset(name, task, [score], inputs, splits, classes=classes, sizes_are="as published")


def _molecule(name: str) -> Description:
    task, score, tasks, test, nominal = MOLECULES[name]
    inputs, classes = _label_inputs(tasks, "float32", "float32"), None if score["key"] == "rmse" else 2
    return _dataset(name, task, [score], inputs, {"test": test}, classes=classes, sizes_are=_sizes(nominal))


def _pooled(name: str) -> Description:
    task, score, test, nominal = POOLED_EDGES[name]
    return _dataset(name, task, [score], _score_inputs(None), {"test": test}, sizes_are=_sizes(nominal))


def _ranked(name: str) -> Description:
    task, candidates, items = RANKED_EDGES[name]
    return _dataset(name, task, MRR_FAMILY, _score_inputs(candidates), {"test": items}, sizes_are="as published")


def _sizes(nominal: bool) -> Sizes:
    return "nominal" if nominal else "as published"


def _words(name: str, role: Role) -> Input:
    return _array(name, ["rows", "words"], "list of lists of str", role, "the words of each name; order does not count")


def _top10(name: str, dtype: str, meaning: str) -> Input:
    return _array(name, ["rows", 10], dtype, "prediction", meaning)


_GAP: Final = "HOMO-LUMO gap of each molecule in eV"
_TAIL_IDS: Final = "entity ids, best first; negative ids pad"
_GAPS: Final = vector_inputs("float64 or float32", "float32", _GAP)

_SINGLE: Final[list[Description]] = [
    _dataset(
        "ogbg-ppa",
        "taxonomic group of a protein association graph",
        [ACC],
        _label_inputs(1, "int64", "int64"),
        {"test": 34_800},
        classes=37,
        sizes_are="as published",
    ),
    _dataset(
        "ogbg-code2",
        "name of a Python method from its syntax tree",
        F1,
        [_words("seq_ref", "reference"), _words("seq_pred", "prediction")],
        {"test": 21_948},
        sizes_are="as published",
    ),
    _dataset(
        "lsc-mag240m",
        "subject area of each arXiv paper",
        [ACC],
        vector_inputs("int64 or float32", "int16", "class of each paper"),
        {"test-dev": 88_092, "test-challenge": 58_726, "test-whole": 146_818},
        classes=153,
    ),
    _dataset(
        "lsc-wikikg90mv2",
        "missing tail of each Wikidata triple",
        [MRR],
        [_top10("t_pred_top10", "int32", _TAIL_IDS), _array("t", ["rows"], "int64", "reference", "true tails")],
        {"valid": 15_000, "test-dev": 15_000, "test-challenge": 10_000},
        classes=91_230_610,
    ),
    _dataset(
        "lsc-wikikg90m",
        "missing tail of each Wikidata triple among 1,001 candidates (retired)",
        [MRR],
        [
            _top10("t_pred_top10", "int16", "positions 0..1000 among the candidates, best first"),
            _array("t_correct_index", ["rows"], "int64", "reference", "position of the true tail"),
        ],
        {"test": 1_359_303},
        classes=1_001,
    ),
    _dataset(
        "lsc-pcqm4mv2",
        _GAP,
        [MAE],
        _GAPS,
        {"train": 3_378_606, "valid": 73_545, "test-dev": 147_037, "test-challenge": 147_432},
    ),
    _dataset("lsc-pcqm4m", f"{_GAP} (retired)", [MAE], _GAPS, {"valid": 380_670, "test": 377_423}),
    _dataset(
        "obl2021",
        "missing head and tail of biomedical triples",
        [H10],
        [
            _top10("h_pred_top10", "int32", "ids predicted for the head; -1 pads"),
            _top10("t_pred_top10", "int32", "ids predicted for the tail; -1 pads"),
            _array("triples", ["rows", 3], "int64", "reference", "(head, relation, tail)"),
        ],
        {"train": 4_192_002, "valid": 186_301, "test": 180_964},
        classes=180_992,
    ),
]

DATASETS: Final[dict[str, Description]] = {
    entry["name"]: entry
    for entry in (
        *map(_node, NODES),
        *map(_pooled, POOLED_EDGES),
        *map(_ranked, RANKED_EDGES),
        *map(_molecule, MOLECULES),
        *_SINGLE,
    )
}
"""Every dataset by its evaluator's name."""
