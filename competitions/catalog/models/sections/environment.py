"""Weights, images and requirements that teams may bring for their code, and its border to the host."""

from collections.abc import Mapping
from typing import ClassVar

from django.db import models

from competitions.catalog.models.sections.section import Section
from workers.protocol.hosts import Isolation as Kind


class EnvironmentSection(Section):
    own_weights = models.BooleanField(
        "weights apart from code",
        default=False,
        help_text="Teams upload weights once; submissions that name them see them read-only in /app/weights.",
    )
    own_images = models.BooleanField(
        "container images of teams",
        default=False,
        help_text="Code may run in an image that its team uploaded, or names by digest in a registry that the queue allows. The ingestion "
        "program then runs in it, too; the scoring program never does.",
    )
    own_requirements = models.BooleanField(
        "locked requirements",
        default=False,
        help_text="A requirements.txt with hashes at the top level of a code submission is installed before the program runs, from the "
        "queue's package mirror.",
    )

    form: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "Own environment": ("own_weights", "own_images", "own_requirements")
    }
    form_kinds: ClassVar[Mapping[str, tuple[str, ...]]] = {"Own environment": ("code",)}
    api: ClassVar[tuple[str, ...]] = ("own_weights", "own_images", "own_requirements")

    class Meta:
        abstract = True

    @property
    def own_environment(self) -> tuple[str, ...]:
        """The kinds that teams may bring, by name: weights, image, requirements."""
        taken = {"weights": self.own_weights, "image": self.own_images, "requirements": self.own_requirements}
        return tuple(name for name, is_taken in taken.items() if is_taken)


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
    form_kinds: ClassVar[Mapping[str, tuple[str, ...]]] = {"Isolation": ("code", "dataset")}
    api: ClassVar[tuple[str, ...]] = ("isolation",)
    bundle: ClassVar[Mapping[str, str]] = {"isolation": "podium.isolation"}

    class Meta:
        abstract = True

    @property
    def is_sandboxed(self) -> bool:
        return self.isolation == Isolation.SANDBOXED
