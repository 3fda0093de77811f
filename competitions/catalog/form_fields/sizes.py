"""Bytes in the admin's forms as people write them: `16 GiB`, not 17179869184."""

import re
from typing import Any, Final

from django import forms
from django.core.exceptions import ValidationError

UNITS: Final = {
    "TiB": 1 << 40,
    "TB": 10**12,
    "GiB": 1 << 30,
    "GB": 10**9,
    "MiB": 1 << 20,
    "MB": 10**6,
    "KiB": 1 << 10,
    "KB": 1000,
    "B": 1,
}
WRITTEN: Final = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]i?B|B)?", re.IGNORECASE | re.ASCII)
LARGEST: Final = 2**63 - 1  # of the database's column


def size_written(size: int) -> str:
    """The shortest way to write exactly this number of bytes: "16 GiB", "300 MB", "17 B"."""
    whole = [(size // factor, unit) for unit, factor in UNITS.items() if size % factor == 0]
    number, unit = min(whole, key=lambda pair: pair[0])
    return f"{number} {unit}"


def size_read(text: str) -> int:
    """Bytes of "16 GiB", "1.5GB" or "4096". Raises `ValidationError`."""
    match = WRITTEN.fullmatch(text.strip().replace(",", ""))
    if match is None:
        raise ValidationError(
            "Write a size such as 16 GiB, 500 MB or 4096 (bytes), not %(text)r.", code="size", params={"text": text}
        )
    unit = next((name for name in UNITS if name.lower() == (match[2] or "B").lower()), "B")
    size = int(float(match[1]) * UNITS[unit]) if "." in match[1] else int(match[1]) * UNITS[unit]
    if size > LARGEST:
        raise ValidationError("%(text)s is more than can be kept; the most is 8 EiB.", params={"text": text})
    return size


class SizeField(forms.CharField):
    """A number of bytes with its unit."""

    def __init__(self, **kwargs: Any) -> None:
        kwargs.pop("min_value", None)
        kwargs.pop("max_value", None)
        kwargs["help_text"] = kwargs.get("help_text") or "With its unit: 16 GiB, 500 MB."
        super().__init__(**kwargs)

    def to_python(self, value: Any) -> Any:
        text = super().to_python(value)
        return size_read(text) if text else None

    def prepare_value(self, value: Any) -> Any:
        return size_written(value) if isinstance(value, int) else value

    def has_changed(self, initial: Any, data: Any) -> bool:
        """Compare the numbers: "1 GiB" and "1024 MiB" are the same."""
        try:
            return bool(self.to_python(data) != initial)
        except ValidationError:
            return True
