"""OpenBioLink 2021: link prediction in a biomedical knowledge graph, with a public test set.

The code of every submission is public.
"""

from pathlib import Path

import numpy as np

from examples.tracks.graphs import KnowledgeGraph
from examples.tracks.track import BoardColumn, Data, Question, Size, Track, TrackPhase, generator

HERE = Path(__file__).resolve().parent
ENTITIES, RELATIONS, TEST_TRIPLES = 180_992, 28, 180_964


def openbiolink(size: Size, seed: int) -> Data:
    """Triples (head, relation, tail) to train and test on; the test triples are public."""
    tests, others = (TEST_TRIPLES, 400_000) if size == "true" else (400, 10_000)
    graph = KnowledgeGraph(ENTITIES, RELATIONS, pool=2_000, exponent=1.1)
    drawn = np.unique(graph.draw(4 * (tests + others), seed, "all"), axis=0)  # a triple is true once
    chosen = generator(seed, "split").permutation(drawn)
    test, train = chosen[:tests], chosen[tests : tests + others]
    return Data(
        {"train.npz": {"hrt": train}, "test.npz": {"hrt": test}},
        {"test": {"triples": test}},
        slices={"test": {"relation type": test[:, 1]}},
    )


TRACKS = (
    Track(
        slug="openbiolink-2021",
        title="OpenBioLink 2021",
        subtitle="Link prediction in a large biomedical knowledge graph",
        dataset="obl2021",
        program="obl2021",
        columns=(BoardColumn("h10", "Hits@10"),),
        phases=(TrackPhase("test", "A new submission overwrites your last one.", rule="Force_Last", per_day=5),),
        folder=HERE,
        generate=openbiolink,
        baseline=HERE / "baseline.py",
        rows={"test": TEST_TRIPLES},
        registration=(Question("affiliation", "Affiliation", is_required=False),),
        fact_sheet=(
            Question("code_url", "Public repository with the code and how to run it", is_on_board=True),
            Question("model", "Name of the model", is_on_board=True),
            Question("h10", "Hits@10 that you measured", is_required=False),
        ),
    ),
)
