"""What code runs with when its team brings something: a file of weights, an image, a package index."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class OwnEnvironment:
    """A file of weights, an image (the path of an archive, or `registry/repository@sha256:…`), and the index that a requirements.txt
    is installed from."""

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
