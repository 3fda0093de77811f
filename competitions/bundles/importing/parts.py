"""A file of a bundle once it is stored."""

from dataclasses import dataclass

from competitions.resources.models import StoredFile


@dataclass(frozen=True)
class Part:
    """A file in the site's storage, the name it is downloaded by, and whether its content was new to the site."""

    file: StoredFile
    file_name: str
    is_new: bool
