"""The tables of a draft: places for files, and what was recognised in them."""

from typing import Final, cast

from competitions.organize.answers import Solution
from competitions.organize.models import CompetitionDraft
from competitions.organize.steps.step import FileSlot, Step

Choices = list[tuple[str, str]]
SOLUTION: Final = FileSlot(
    "solution",
    "Solution",
    "The answers: one row per item, with an id column and the target. CSV, TSV, Parquet, JSON Lines, npz; compressed or not.",
    is_required=True,
)
SAMPLE: Final = FileSlot(
    "sample_submission",
    "Sample submission",
    "What teams start from: every id, and the same prediction in each row. Its columns may have names of their own. "
    "Without one, we make it for you.",
)


def table_preview(draft: CompetitionDraft, role: str) -> Solution | None:
    """The preview of a table; None until it was read."""
    file = next((file for file in draft.files.all() if file.role == role), None)
    return cast("Solution", file.preview) if file is not None and file.preview else None


def solution_preview(draft: CompetitionDraft) -> Solution | None:
    return table_preview(draft, SOLUTION.role)


def sample_preview(draft: CompetitionDraft) -> Solution | None:
    return table_preview(draft, SAMPLE.role)


def column_names(draft: CompetitionDraft, role: str = SOLUTION.role) -> list[str]:
    table = table_preview(draft, role)
    return [column["name"] for column in table["columns"]] if table else []


def answer_texts(draft: CompetitionDraft, step: str, name: str) -> list[str]:
    texts: list[str] = draft.answers.get(step, {}).get(name, [])
    return texts


def predicted_in_sample(draft: CompetitionDraft) -> dict[str, bool]:
    """The prediction columns of the sample submission, if there is one, and if they hold numbers."""
    sample, identity = sample_preview(draft), "".join(answer_texts(draft, "columns", "id_column")[:1])
    columns = sample["columns"] if sample else []
    return {column["name"]: column["type"] != "text" for column in columns if column["name"] != identity}


DATA: Final = Step(
    "data",
    "Data",
    "Which file holds the answers?",
    preview="organize/guided/previews/solution.html",
    template="data",
    intro="Upload the solution. Teams never see it; they get the ids, and the files that you add here for them.",
    slots=(
        SOLUTION,
        SAMPLE,
        FileSlot("training", "Training data", "What teams learn from and can download."),
        FileSlot("test", "Test data", "The items to predict, without answers. Teams can download them."),
    ),
)
