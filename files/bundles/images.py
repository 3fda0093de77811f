"""The images of a bundle: its logo, its cover, and those that its pages show."""

from collections.abc import Iterator
from pathlib import PurePosixPath
from posixpath import normpath
from urllib.parse import unquote

from files.bundles.archive import BundleFiles
from files.bundles.document import Document
from files.bundles.faults import Note, Where
from files.bundles.schema import CompetitionSpec
from files.images import check_image, image_name
from files.markup import MAX_CHARACTERS, render
from files.refusals import InvalidFile


class BundleImages:
    """The images of a bundle.

    `logo` and `cover` are paths of usable images; `files` maps names of images to paths; `notes` say what is left out and why.
    """

    def __init__(self, spec: CompetitionSpec, files: BundleFiles, document: Document) -> None:
        self._bundle, self._document = files, document
        self.notes: list[Note] = []
        self.files: dict[str, str] = {}
        for image in spec.podium.images:
            self._take(image.name, image.file, ("podium", "images"))
        self._named = {image.name for image in spec.podium.images}
        for where, page in _texts(spec):
            self._of_page(where, page)
        self.logo = None if spec.podium.image_stands_in else self._usable(spec.image, ("image",))
        self.cover = self._usable(spec.podium.cover, ("podium", "cover"))

    @property
    def paths(self) -> list[str]:
        """Every file that is an image."""
        return [*(path for path in (self.logo, self.cover) if path), *self.files.values()]

    def _usable(self, path: str | None, where: Where) -> str | None:
        return path if path and self._is_usable(path, where) else None

    def _of_page(self, where: Where, page: str) -> None:
        if self._bundle.file(page) is None:
            return  # said already
        for source in dict.fromkeys(_sources(self._bundle.text(page))):
            if (name := image_name(source)) is None:
                self._note(
                    where, f"the image {source[:80]!r} is not in the bundle; pages show no images of other sites"
                )
            elif name in self._named:
                continue
            elif (image_path := self._find(source, name, page)) is not None:
                self._take(name, image_path, where)
            else:
                self._note(where, f"the page shows the image {source[:80]!r}, and the bundle has no such file")

    def _find(self, source: str, name: str, page: str) -> str | None:
        """The image beside its page, or at the top of the bundle."""
        folder = PurePosixPath(page.replace("\\", "/")).parent
        candidates = [normpath(folder / unquote(source)), str(folder / name), name]
        return next((candidate for candidate in candidates if self._bundle.file(candidate)), None)

    def _take(self, name: str, file: str, where: Where) -> None:
        known = self.files.get(name)
        if known is not None and self._bundle.path(known) != self._bundle.path(file):
            self._note(where, f"two images are called {name!r}, and {known!r} is shown for both; rename one")
        elif known is None and self._is_usable(file, where):
            self.files[name] = file

    def _is_usable(self, file: str, where: Where) -> bool:
        path = self._bundle.file(file)
        if path is None:
            return False  # said already
        try:
            check_image(path, what=f"The image {file!r}")
        except InvalidFile as error:
            self._note(where, f"{error.detail} It is left out")
            return False
        return True

    def _note(self, where: Where, message: str) -> None:
        self.notes.append(self._document.note(where, message))


def _sources(text: str) -> tuple[str, ...]:
    """Addresses of images in Markdown or HTML; none of a text that is too long, which the import refuses."""
    return render(text, "mixed").sources if len(text) <= MAX_CHARACTERS else ()


def _texts(spec: CompetitionSpec) -> Iterator[tuple[Where, str]]:
    yield from ((page.where, page.file) for page in spec.pages)
    if spec.terms:
        yield ("terms",), spec.terms
