"""The uploaded files, the refusal of one, and the values of its single samples."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scoring.errors import CODES, ScoringInputError


class Refused(Exception):
    """The participant's file is invalid; `code` and `message` are for the participant."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


def uploaded_files(res: Path) -> list[Path]:
    """The regular files that a person put there: no link, nothing hidden, no archiver's extras.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("p.csv", ".DS_Store"):
    ...         _ = (Path(folder) / name).write_text("")
    ...     [path.name for path in uploaded_files(Path(folder))]
    ['p.csv']
    """
    return [
        path for path in sorted(res.rglob("*")) if path.is_file() and not path.is_symlink() and not _is_extra(path, res)
    ]


def find_upload(res: Path, filename: str) -> Path:
    """The uploaded file of that name, or the only other file.

    Its wrong name then makes the best message. Raises `Refused`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = (Path(folder) / "y_pred.npz").write_text("")
    ...     find_upload(Path(folder), "y_pred.npz").name
    'y_pred.npz'
    """
    files = uploaded_files(res)
    exact = [path for path in files if path.name == filename]
    if len(exact) == 1:
        return exact[0]
    if not exact and len(files) == 1:
        return files[0]
    shown = ", ".join(ascii(path.name[:60]) for path in files[:5]) or "nothing"
    code = "wrong_file_name" if files else "no_file"
    times = "twice" if exact else "not"
    raise Refused(code, f"{filename}: it is {times} among the uploaded files ({shown}); upload it once by this name.")


def _is_extra(path: Path, res: Path) -> bool:
    return any(part.startswith((".", "__MACOSX")) for part in path.relative_to(res).parts)


@contextmanager
def refusing(predicted: Collection[str] = ()) -> Iterator[None]:
    """Refuse what is wrong with the team's values, in fixed words: the labels are in play now.

    `predicted` are the names of the team's arrays; metrics call them ``prediction``.

    >>> with refusing(["y_pred"]):
    ...     raise ScoringInputError("nan", "y_pred", "it holds NaN", "give numbers")
    Traceback (most recent call last):
    scoring.uploads.Refused: The predictions cannot be scored: an array holds NaN where a number is required.
    """
    try:
        yield
    except ScoringInputError as error:
        if error.where.partition(",")[0] in {"prediction", "y_pred", *predicted}:
            raise Refused(error.code, f"The predictions cannot be scored: {CODES[error.code]}.") from error
        raise


def write_samples(path: Path, samples: Mapping[str, NDArray[Any]]) -> None:
    """Write the values of the single samples as float32, one array a metric; nothing where there are none.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_samples(Path(folder) / "a.npz", {"mae": np.array([0.5])})
    ...     np.load(Path(folder) / "a.npz")["mae"].dtype
    dtype('float32')
    """
    if samples:
        path.parent.mkdir(parents=True, exist_ok=True)
        arrays: dict[str, Any] = {key: values.astype(np.float32) for key, values in samples.items()}
        np.savez_compressed(path, **arrays)
