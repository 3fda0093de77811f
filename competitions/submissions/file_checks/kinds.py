"""The kind that an uploaded file looks like, for senders who name none or the wrong one."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from competitions.catalog.models import Phase
from competitions.submissions.refusals import LooksLikeAnotherKind, WhichKind
from competitions.submissions.states import Kind
from core.refusals import InvalidFile
from files.archives import look_at_zip
from files.code_check import CODE_LIMITS
from workers.protocol.files.plain_yaml import METADATA_NAMES

DATASET_FOLDERS: Final = ("input_data", "reference_data")
PROGRAMS: Final = (".py", ".sh", ".R", ".jl")


def choose_kind(
    phase: Phase, names: Callable[[], Sequence[str]], file_name: str, *, chosen: Kind | None = None
) -> Kind:
    """The kind of submission that a file is, of those that the phase accepts.

    It is the chosen one, unless the file looks like another by the `names` in its zip. Raises `WhichKind` or `LooksLikeAnotherKind`.
    """
    accepted = [Kind(kind) for kind in phase.accepted_kinds]
    if phase.as_on_codabench or len(accepted) < 2:
        return chosen or next(iter(accepted), Kind.PREDICTION)
    looks_like, sign = recognise_kind(names())
    if chosen is None and looks_like not in accepted:
        raise WhichKind(phase, file_name)
    if chosen is not None and sign and looks_like != chosen and looks_like in accepted:
        raise LooksLikeAnotherKind(file_name, chosen=chosen, looks_like=looks_like, sign=sign)
    return chosen or looks_like


def recognise_kind(names: Sequence[str]) -> tuple[Kind, str]:
    """The kind that a zip with these names looks like, and what in it shows that.

    A zip with a program at its top is code, one with both folders of a dataset is a dataset; all else are predictions, which nothing
    shows.
    """
    if set(DATASET_FOLDERS) <= {name.split("/")[0] for name in names if "/" in name}:
        return Kind.DATASET, f"the folders {' and '.join(DATASET_FOLDERS)}"
    top = [name for name in names if "/" not in name]
    program = next((name for name in top if name in METADATA_NAMES or name.endswith(PROGRAMS)), "")
    return (Kind.CODE, f"{program} at its top level") if program else (Kind.PREDICTION, "")


def zip_names(path: Path, file_name: str) -> Sequence[str]:
    """The names in a zip; none for another file, and for one whose fault is said where it is submitted."""
    if not file_name.lower().endswith(".zip"):
        return ()
    try:
        return look_at_zip(path, limits=CODE_LIMITS, what=f"The submission {file_name!r}") or ()
    except InvalidFile:
        return ()
