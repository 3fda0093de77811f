"""Imports, exports and pushes of bundles, so that a browser or a client can ask for their progress."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from competitions.catalog.models import Competition, Task
from competitions.compute.models import Queue
from competitions.resources.models import StoredFile
from core.background.rows import AskedRow, asker_key
from core.fields import OneLineField


class BundleImport(AskedRow):
    """Something that a background process makes of a bundle, and what became of it."""

    class Kind(models.TextChoices):
        COMPETITION = "competition", "competition"  # of a bundle that somebody sent
        CLONE = "clone", "clone"  # of a competition of this site
        TASK = "task", "task"  # of a zip with one task

    class State(models.TextChoices):
        WAITING = "waiting", "waiting"
        RUNNING = "running", "running"
        FINISHED = "finished", "imported"
        FAILED = "failed", "refused"

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="bundle_imports")
    kind = models.CharField(max_length=12, choices=Kind, default=Kind.COMPETITION)
    file = models.ForeignKey(StoredFile, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    original = models.ForeignKey(Competition, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    file_name = OneLineField(max_length=255)
    queue = models.ForeignKey(Queue, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    step = models.CharField(max_length=200, blank=True)
    report = models.JSONField(default=dict, blank=True)
    competition = models.ForeignKey(Competition, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    task = models.ForeignKey(Task, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField()
    changed_at = models.DateTimeField()

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.CheckConstraint(
                name="bundle_import_file_unless_clone",
                condition=Q(kind="clone", file=None) | (~Q(kind="clone") & Q(file__isnull=False)),
            )
        ]
        indexes = [
            models.Index(
                fields=["asker", "id"], condition=Q(state__in=("waiting", "running")), name="bundle_import_waiting"
            )
        ]

    def __str__(self) -> str:
        return f"{self.file_name}: {self.get_state_display()}"

    def asked_by(self) -> str:
        return asker_key("person", self.owner_id)

    @property
    def is_over(self) -> bool:
        return self.state in (self.State.FINISHED, self.State.FAILED)


class BundleExport(AskedRow):
    """A competition that somebody wants as a bundle, and the file once it is written."""

    class State(models.TextChoices):
        WAITING = "waiting", "being written"
        FINISHED = "finished", "ready"
        FAILED = "failed", "failed"

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="bundle_exports")
    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="+")
    with_files = models.BooleanField(default=True, help_text="Programs and data inside, not named by key.")
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    file = models.ForeignKey(StoredFile, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField()
    changed_at = models.DateTimeField()

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.CheckConstraint(
                name="bundle_export_file_iff_finished",
                condition=Q(state="finished", file__isnull=False) | (~Q(state="finished") & Q(file=None)),
            )
        ]
        indexes = [models.Index(fields=["asker", "id"], condition=Q(state="waiting"), name="bundle_export_waiting")]

    def __str__(self) -> str:
        return f"{self.file_name}: {self.get_state_display()}"

    def asked_by(self) -> str:
        return asker_key("person", self.owner_id)

    @property
    def file_name(self) -> str:
        return f"{self.competition.slug}{'' if self.with_files else '-keys'}.zip"

    @property
    def is_over(self) -> bool:
        return self.state != self.State.WAITING


class CompetitionPush(AskedRow):
    """A folder that makes or changes a competition: it is compared first, and applied after a yes."""

    class State(models.TextChoices):
        COMPARING = "comparing", "being compared"
        COMPARED = "compared", "waiting for a yes"
        APPLYING = "applying", "being applied"
        APPLIED = "applied", "applied"
        FAILED = "failed", "refused"

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="competition_pushes")
    bundle = models.ForeignKey(
        StoredFile,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        help_text="A zip of the small files.",
    )
    digests = models.JSONField(default=dict, help_text="The other files, from path to SHA-256.")
    parts = models.ManyToManyField(StoredFile, related_name="+", help_text="What `digests` names.")
    base = models.CharField(max_length=64, blank=True, help_text="The version that the folder was made from.")
    is_forced = models.BooleanField(default=False, help_text="Applied although others changed the competition since.")
    state = models.CharField(max_length=10, choices=State, default=State.COMPARING)
    step = models.CharField(max_length=200, blank=True)
    slug = models.CharField(max_length=60, blank=True)
    version = models.CharField(
        max_length=64, blank=True, help_text="Of what was live when it was compared; empty: a new one."
    )
    result = models.CharField(max_length=64, blank=True, help_text="Version of the competition that it makes.")
    is_stale = models.BooleanField(default=False, help_text="Others changed the competition since `base`.")
    changes = models.JSONField(default=list)
    impact = models.JSONField(default=list)
    report = models.JSONField(default=dict)
    fault = models.TextField(blank=True)
    competition = models.ForeignKey(
        Competition, on_delete=models.SET_NULL, null=True, blank=True, related_name="pushes"
    )
    created_at = models.DateTimeField()
    changed_at = models.DateTimeField()

    class Meta:
        ordering = ["-pk"]
        verbose_name_plural = "competition pushes"
        constraints = [
            models.CheckConstraint(
                name="push_bundle_until_over",
                condition=Q(bundle__isnull=False) | Q(state__in=("applied", "failed", "compared")),
            )
        ]
        indexes = [
            models.Index(fields=["asker", "id"], condition=Q(state__in=("comparing", "applying")), name="push_waiting")
        ]

    def __str__(self) -> str:
        return f"{self.slug or 'a folder'}: {self.get_state_display()}"

    def asked_by(self) -> str:
        return asker_key("person", self.owner_id)

    @property
    def is_over(self) -> bool:
        """Nothing is done about it until somebody says so."""
        return self.state not in (self.State.COMPARING, self.State.APPLYING)
