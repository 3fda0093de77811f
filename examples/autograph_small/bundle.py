"""Builds the benchmark in Codabench's version 2: `python -m examples.autograph_small.bundle DEST`."""

from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np

from examples.writing import OVERVIEW, benchmark, copy_parts, main, write_yaml

HERE = Path(__file__).resolve().parent
IMAGE = "podium/runtime:1"
FEATURES = 8
TRAIN_SHARE = 0.1


@dataclass(frozen=True)
class Graph:
    """One task: numbers of nodes and classes, and rates of edges within classes and between them."""

    name: str
    nodes: int
    classes: int
    within: float
    between: float
    skew: float


GRAPHS = (
    Graph("citations", nodes=400, classes=4, within=0.04, between=0.004, skew=1.0),
    Graph("products", nodes=600, classes=6, within=0.05, between=0.006, skew=0.8),
    Graph("messages", nodes=500, classes=3, within=0.03, between=0.008, skew=0.5),
)


def build_bundle(dest: Path, *, now: datetime, seed: int = 7) -> Path:
    """Write the bundle into `dest`, a folder that does not exist yet; its phase is open from `now` on."""
    copy_parts(HERE, dest, ("pages", "ingestion_program", "scoring_program"))
    for number, graph in enumerate(GRAPHS):
        write_graph(dest, graph, np.random.default_rng(seed + number))
    return write_yaml(dest, competition(now))


def write_graph(dest: Path, graph: Graph, rng: np.random.Generator) -> None:
    """Draw a graph from a stochastic block model; its features lean towards a centre for each class."""
    share = graph.skew ** np.arange(graph.classes)
    labels = rng.choice(graph.classes, size=graph.nodes, p=share / share.sum())
    same = labels[:, None] == labels[None]
    joined = np.triu(rng.random((graph.nodes, graph.nodes)) < np.where(same, graph.within, graph.between), k=1)
    features = rng.normal(size=(graph.classes, FEATURES))[labels] + rng.normal(scale=2.0, size=(graph.nodes, FEATURES))
    order = rng.permutation(graph.nodes)
    # A class without a label cannot be learnt.
    firsts = [np.flatnonzero(labels == label)[0] for label in range(graph.classes)]
    train = np.union1d(order[: int(graph.nodes * TRAIN_SHARE)], firsts)
    test = np.setdiff1d(np.arange(graph.nodes), train)
    inputs, reference = dest / f"input_data_{graph.name}", dest / f"reference_data_{graph.name}"
    inputs.mkdir()
    reference.mkdir()
    np.savez_compressed(
        inputs / "graph.npz",
        edges=np.argwhere(joined),
        features=features.astype(np.float32),
        train=train,
        labels=labels[train],
        test=test,
        classes=graph.classes,
    )
    np.savetxt(reference / "labels.txt", labels[test], fmt="%d")


def competition(now: datetime) -> dict[str, object]:
    """The content of `competition.yaml`, in Codabench's keys alone."""
    return benchmark(
        title="AutoGraph in small",
        description="Classify the nodes of graphs that the code has not seen.",
        image=IMAGE,
        now=now,
        enable_detailed_results=True,
        pages=OVERVIEW | {"Data": "pages/data.md"},
        tasks=[
            {
                "name": graph.name,
                "description": f"The graph {graph.name}",
                "ingestion_program": "ingestion_program",
                "input_data": f"input_data_{graph.name}",
                "scoring_program": "scoring_program",
                "reference_data": f"reference_data_{graph.name}",
            }
            for graph in GRAPHS
        ],
        phase={
            "name": "AutoGraph",
            "max_submissions": 1000,
            "max_submissions_per_day": 100,
            "execution_time_limit": 120,
        },
        board={
            "title": "Results",
            "submission_rule": "Force_Best",
            "primary_index": 0,
            "columns": [
                {"title": "Acc", "key": "acc", "index": 0, "sorting": "desc", "precision": 4},
                {"title": "BalAcc", "key": "bacc", "index": 1, "sorting": "desc", "precision": 4},
            ],
        },
    )


if __name__ == "__main__":
    raise SystemExit(main("autograph_small", build_bundle))
