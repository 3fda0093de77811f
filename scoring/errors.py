"""The one error of the package, and the fixed vocabulary of its codes."""

import errno
from typing import Final

OF_FILES: Final = (errno.EINVAL, None)
"""Numbers of the errors that damaged files lead to: a place before the begin, and what gzip raises, which has none."""
CODES: Final[dict[str, str]] = {
    # the arrays
    "unknown_name": "no evaluator of that name exists",
    "missing_input": "a required array is missing",
    "wrong_type": "a value is not an array of numbers, or not the required kind of list",
    "wrong_shape": "an array has the wrong shape or number of rows",
    "wrong_dtype": "an array has the wrong number type",
    "empty_input": "an array holds no rows",
    "nan": "an array holds NaN where a number is required",
    "infinite": "an array holds infinity, or values so large that the score is infinite",
    "out_of_range": "a value lies outside the allowed range",
    "inexact": "the official arithmetic would wrap around in this integer type",
    "no_labelled_rows": "no row carries a label",
    "no_scorable_task": "no task holds both classes",
    "not_binary": "a task that is scored holds labels other than 0 and 1",
    "bad_parameter": "a parameter lies outside its allowed range",
    "not_decomposable": "the metric is not a mean over samples",
    # the uploaded file
    "no_file": "the file does not exist or cannot be read",
    "empty_file": "the file is empty",
    "not_a_zip": "the file is not a zip archive",
    "truncated": "the file ends too early",
    "crc_error": "the compressed data are damaged",
    "encrypted": "the archive is encrypted",
    "too_large": "the file, or what it unpacks to, is larger than this format can be",
    "unsupported_compression": "the archive uses a compression other than deflate",
    "corrupt_archive": "the archive's directory contradicts itself",
    "no_member": "the archive is empty",
    "extra_member": "the archive holds more than the required arrays",
    "wrong_key": "the archive holds an array of another name",
    "path_in_member": "a member's name holds a path",
    "bad_header": "a member is not an array as numpy writes it",
    "object_dtype": "an array holds Python objects",
    "wrong_file_name": "the file has another name than the official one",
    "wrong_split": "the file belongs to another split",
    "duplicate_ids": "a row names the same entity twice",
    "unknown_split": "the dataset has no such split, or no official file format",
    "bad_json": "the file is not the required JSON document",
    # tables
    "bad_schema": "the description of the table contradicts itself",
    "unknown_format": "the file is not a table of a known format",
    "missing_column": "a required column is missing",
    "extra_column": "the table holds a column that is not asked for",
    "missing_ids": "rows that are asked for are missing",
    "unknown_ids": "the table holds rows that are not asked for",
    "unknown_class": "a value is none of the allowed ones",
    "not_a_distribution": "probabilities of a row do not sum to 1",
    "metric_refused": "the competition's metric refuses the predictions",
    "bad_metric": "the competition's metric cannot be used",
    # the reference folder: never the participant's fault
    "bad_reference": "the reference data are missing or do not fit the dataset",
}
"""Every code with its meaning. Codes are stable: programs may branch on them; texts may change."""


class ScoringInputError(ValueError):
    """An input that cannot be scored: what is wrong, where, and what would be right.

    Parameters
    ----------
    code : str
        One of `CODES`.
    where : str
        The array, file, member or field at fault, for instance ``"y_pred"``; empty where `what` names it.
    what, right : str
        Clauses without a full stop: what is wrong there, and what would be right.

    >>> str(ScoringInputError("wrong_shape", "y_pred", "it is an array of 3 numbers", "give 4, one per label"))
    'y_pred: it is an array of 3 numbers; give 4, one per label.'
    """

    def __init__(self, code: str, where: str, what: str, right: str) -> None:
        if code not in CODES:
            raise KeyError(f"{code!r} is not in scoring.errors.CODES; add it there with its meaning")
        super().__init__(f"{where}: {what}; {right}." if where else f"{what}; {right}.")
        self.code = code
        self.where = where
        self.what = what
        self.right = right

    def __reduce__(self) -> tuple[type["ScoringInputError"], tuple[str, str, str, str]]:
        """Survive pickling: the default would call the constructor with the sentence alone."""
        return type(self), (self.code, self.where, self.what, self.right)


def is_of_host(error: BaseException) -> bool:
    """True where a disk took no more or failed, of which no file that is read is at fault.

    >>> is_of_host(OSError(errno.ENOSPC, "No space left on device")), is_of_host(OSError("Not a gzipped file"))
    (True, False)
    """
    behind = (error, error.__context__)  # zipfile makes a BadZipFile of some
    return any(isinstance(fault, OSError) and fault.errno not in OF_FILES for fault in behind)
