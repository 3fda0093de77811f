"""The environment of code whose team brings something: weights, an image, a package index."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class OwnEnvironment:
    """A file of weights, an image, and a package index for requirements.txt.

    The image is the path of an archive, or `registry/repository@sha256:…`.
    """

    weights: Path | None = None
    image: str = ""
    mirror: str = ""

    @property
    def archive(self) -> Path | None:
        """The image's archive, where it is one."""
        return Path(self.image) if self.image and Path(self.image).is_file() else None

    @property
    def kinds(self) -> list[str]:
        """Its parts, as a phase's `environment` names them; requirements lie within the code."""
        return [*(["weights"] if self.weights else []), *(["image"] if self.image else [])]


NOTHING = OwnEnvironment()
