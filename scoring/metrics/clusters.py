"""Metrics of clusterings: what a cluster is called does not matter."""

from typing import Any, Final, Unpack

from scoring.metrics.metric import SKLEARN, Facts, Prediction, Rows, Subject, Target

CLUSTERS: Final = Subject(
    group="clustering",
    direction="max",
    target=Target("class"),
    prediction=Prediction("text"),
    perfect=1.0,
    weighted=False,
)


def _enter(name: str, title: str, function: str, **facts: Unpack[Facts]) -> None:
    """Enter a function of scikit-learn that takes two lists of labels."""

    def score(rows: Rows) -> float:
        from sklearn import metrics  # here, because loading it takes longer than scoring most files

        measure: Any = getattr(metrics, function)
        return float(measure(rows.truth, rows.prediction.astype(str)))

    CLUSTERS.whole(name, title, SKLEARN + function, **facts)(score)


_enter(
    "adjusted_rand",
    "Adjusted Rand index",
    "adjusted_rand_score",
    help="Pairs that both clusterings treat alike, beyond chance.",
    range=(-1.0, 1.0),
    words="ari",
)
_enter(
    "normalized_mutual_information",
    "Normalized mutual information",
    "normalized_mutual_info_score",
    help="Information of the clusters about the classes, as a share.",
    words="nmi",
)
_enter(
    "adjusted_mutual_information",
    "Adjusted mutual information",
    "adjusted_mutual_info_score",
    help="As normalized mutual information, beyond chance.",
    range=(-1.0, 1.0),
    words="ami",
)
_enter(
    "fowlkes_mallows",
    "Fowlkes-Mallows index",
    "fowlkes_mallows_score",
    help="Geometric mean of the pairs' precision and recall.",
)
_enter("homogeneity", "Homogeneity", "homogeneity_score", help="Whether each cluster holds one class.")
_enter("completeness", "Completeness", "completeness_score", help="Whether each class lies in one cluster.")
