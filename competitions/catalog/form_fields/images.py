"""Form fields for images: checked by their headers before anything is stored, and never decoded here."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from django import forms
from django.core.files.uploadedfile import TemporaryUploadedFile

from competitions.resources.models import StoredFile
from competitions.resources.storage import spooled, store_path
from competitions.resources.uploads import clean_file_name
from core.refusals import InvalidFile
from files.images import MAX_BYTES, MAX_PIXELS, NAME, check_image

IMAGE_HELP: Final = (
    f"PNG, JPEG, GIF or WebP, at most {MAX_BYTES // 1024**2} MiB and {MAX_PIXELS // 1_000_000} million pixels. It is shown in a few "
    "seconds, in sizes that suit pages and without metadata."
)


@dataclass(frozen=True)
class Shown:
    """The image that is there already, as the form's widget shows it: by its address."""

    url: str

    def __str__(self) -> str:
        return "see it"


class ImageUploadField(forms.FileField):
    """An upload that is an image which pages can show."""

    def clean(self, data: Any, initial: Any = None) -> Any:
        upload = super().clean(data, initial)
        if isinstance(upload, TemporaryUploadedFile):  # the upload handler always writes to disk
            try:
                check_image(Path(upload.temporary_file_path()), what=f"The file {upload.name!r}")
            except InvalidFile as refusal:
                raise forms.ValidationError(refusal.detail, code=refusal.code) from refusal
        return upload


def store_upload(upload: TemporaryUploadedFile) -> StoredFile:
    """Store what was uploaded."""
    with spooled(upload.chunks()) as path:
        return store_path(path)


def storable_name(upload: TemporaryUploadedFile) -> str:
    """The file's own name, with `_` for what cannot stand in a name here."""
    name = clean_file_name(upload.name or "image")[-200:]
    return "".join(sign if NAME.fullmatch(f"x{sign}") else "_" for sign in name).lstrip(".") or "image"
