"""The kind that an uploaded file looks like: for senders who name none, and for those who may have named the wrong one."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from competitions.catalog.models import Phase
from competitions.resources.models import Upload
from competitions.resources.storage import local_copy
from competitions.resources.uploads import UploadIncomplete, upload_finish
from competitions.submissions.refusals import LooksLikeAnotherKind, WhichKind
from competitions.submissions.states import Kind
from core.refusals import InvalidFile
from files.archives import look_at_zip
from files.code_check import CODE_LIMITS, METADATA_NAMES

DATASET_FOLDERS: Final = ("input_data", "reference_data")
PROGRAMS: Final = (".py", ".sh", ".R", ".jl")


def choose_kind(phase: Phase, upload: Upload, *, named: Kind | None = None) -> Kind:
    """The kind of submission that the file is, of those that the phase accepts.

    A name decides, unless the file looks like another kind. Raises `WhichKind`, `LooksLikeAnotherKind` or `UploadIncomplete`.
    """
    accepted = [Kind(kind) for kind in phase.accepted_kinds]
    if phase.as_on_codabench or len(accepted) < 2:
        return named or next(iter(accepted), Kind.PREDICTION)
    stored = upload_finish(upload).file
    if stored is None:
        raise UploadIncomplete(upload)
    with local_copy(stored) as path:
        looks_like, sign = recognise_kind(path, upload.file_name)
    if named is not None:
        if sign and looks_like != named and looks_like in accepted:
            raise LooksLikeAnotherKind(upload.file_name, named=named, looks_like=looks_like, sign=sign)
        return named
    if looks_like not in accepted:
        raise WhichKind(phase, upload.file_name)
    return looks_like


def recognise_kind(path: Path, file_name: str) -> tuple[Kind, str]:
    """The kind that a file looks like, and what in it shows that.

    A zip with a program at its top is code, one with both folders of a dataset is a dataset; all else are predictions, which nothing
    shows.
    """
    names = _zip_names(path, file_name)
    if set(DATASET_FOLDERS) <= {name.split("/")[0] for name in names if "/" in name}:
        return Kind.DATASET, f"the folders {' and '.join(DATASET_FOLDERS)}"
    top = [name for name in names if "/" not in name]
    program = next((name for name in top if name in METADATA_NAMES or name.endswith(PROGRAMS)), "")
    return (Kind.CODE, f"{program} at its top level") if program else (Kind.PREDICTION, "")


def _zip_names(path: Path, file_name: str) -> Sequence[str]:
    """The names in a zip; none for another file, and for one whose fault is said where it is submitted."""
    if not file_name.lower().endswith(".zip"):
        return ()
    try:
        return look_at_zip(path, limits=CODE_LIMITS, what=f"The submission {file_name!r}") or ()
    except InvalidFile:
        return ()
