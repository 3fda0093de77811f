"""The base of a phase's sections."""

from collections.abc import Mapping
from typing import ClassVar

from django.db import models


class Section(models.Model):
    """Fields of a phase that belong together.

    `form` maps the headings of the form to the fields below them; `api` names what everybody who sees the phase is told; `bundle`
    says for each field where it stands in a bundle's phase, `podium.X` for what is below its `podium`. Fields that a bundle says
    otherwise, such as several as one list, are read by `bundles/importing/` and written by `bundles/writer.py`.
    """

    form: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    api: ClassVar[tuple[str, ...]] = ()
    bundle: ClassVar[Mapping[str, str]] = {}

    class Meta:
        abstract = True

    def faults(self) -> dict[str, str]:
        """What is wrong with the section's fields together, by field; what one field may be is its validators' to say."""
        return {}
