"""A file of a bundle once it is stored."""

from dataclasses import dataclass

from competitions.resources.models import StoredFile


@dataclass(frozen=True)
class Part:
    """A stored file, its name for downloads, and if its content was new to the site."""

    file: StoredFile
    file_name: str
    is_new: bool
