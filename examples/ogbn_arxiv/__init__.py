"""A leaderboard of OGB: ogbn-arxiv, results of ten seeds that the team computed, ranked by their mean."""

from pathlib import Path

from examples.tracks.graphs import Papers
from examples.tracks.track import BoardColumn, Data, Question, Size, Track, TrackPhase

HERE = Path(__file__).resolve().parent
PAPERS = Papers(classes=40, features=16)


def arxiv(size: Size, seed: int) -> Data:
    """Papers with features and classes; in OGB the test labels are public too, and teams score themselves."""
    counts = (
        {"train": 90_941, "valid": 29_799, "test": 48_603}
        if size == "true"
        else {"train": 1_500, "valid": 300, "test": 400}
    )
    public = {f"{name}.npz": PAPERS.draw(count, seed, name) for name, count in counts.items()}
    return Data(public, {"test": {}})


TRACKS = (
    Track(
        slug="ogbn-arxiv",
        title="OGB leaderboard: ogbn-arxiv",
        subtitle="Subject areas of arXiv papers: mean of ten seeds",
        dataset="ogbn-arxiv",
        program="ogb-results",
        columns=(
            BoardColumn("acc", "Test accuracy", spread="acc_std"),
            BoardColumn("acc_valid", "Validation accuracy", spread="acc_valid_std"),
            BoardColumn("acc_std", "Deviation of test", "asc", is_hidden=True),
            BoardColumn("acc_valid_std", "Deviation of validation", "asc", is_hidden=True),
        ),
        phases=(
            TrackPhase(
                "test", "Results of ten seeds; each submission stands for one method.", rule="Force_Best", per_day=5
            ),
        ),
        folder=HERE,
        generate=arxiv,
        baseline=HERE / "baseline.py",
        has_official_file=False,
        fact_sheet=(
            Question("method", "Name of the method", is_on_board=True),
            Question("parameters", "Number of parameters", is_on_board=True),
            Question("code_url", "Public repository with the code", is_on_board=True),
            Question("report_url", "Paper"),
            Question("hardware", "Hardware"),
            Question("external_data", "External data that were used", is_required=False),
        ),
    ),
)
