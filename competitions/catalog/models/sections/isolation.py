"""The border between participants' code and the kernel of its host."""

from collections.abc import Mapping
from typing import ClassVar

from django.db import models

from competitions.catalog.models.sections.section import Section
from workers.protocol.hosts import Isolation as Kind


class Isolation(models.TextChoices):
    STANDARD = Kind.STANDARD, "a container"
    SANDBOXED = Kind.SANDBOXED, "a container in gVisor"


class IsolationSection(Section):
    isolation = models.CharField(
        "code runs in",
        max_length=10,
        choices=Isolation,
        default=Isolation.STANDARD,
        db_default=Isolation.STANDARD,
        help_text="In gVisor, participants' code meets a kernel of its own instead of the host's. It starts later, works slower on files, "
        "has no GPU, and runs only on workers that have gVisor. The scoring program runs in a container in any case.",
    )

    form: ClassVar[Mapping[str, tuple[str, ...]]] = {"Isolation": ("isolation",)}
    api: ClassVar[tuple[str, ...]] = ("isolation",)
    bundle: ClassVar[Mapping[str, str]] = {"isolation": "podium.isolation"}

    class Meta:
        abstract = True

    @property
    def is_sandboxed(self) -> bool:
        return self.isolation == Isolation.SANDBOXED
