"""Queues, the compute workers that serve them, and launchers with their jobs in clusters."""

import hashlib
import secrets
import uuid
from collections.abc import Mapping
from datetime import datetime, timedelta
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, ClassVar

from django.conf import settings
from django.core.validators import MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q
from django.dispatch import Signal

from competitions.compute.images import validate_image_patterns, validate_registries
from competitions.compute.mirrors import validate_mirror
from core.fields import SHORT_TEXT, LongTextField, OneLineField
from core.rows import get_or_none
from workers.protocol.hosts import Isolation
from workers.protocol.images import ImageName, engine_name

if TYPE_CHECKING:
    from accounts.models import User

QUEUE_NAME = RegexValidator(r"\A[a-z0-9][a-z0-9-]{0,62}\Z", "Lower-case letters, digits and hyphens, at most 63.")
NAMED_IMAGES = 5  # patterns that a refusal names
WORKER_SILENT_AFTER_S = 60
LAUNCHER_SILENT_AFTER_S = 300

# Sent with `queue`, as its form has it, before it gets another owner. A receiver that raises a `Refusal` keeps it as it is.
queue_owner_changing = Signal()
# Sent with `job`, a `ClusterJob` that has ended, after the transaction that says so; again with each report while its worker
# still holds a run.
cluster_job_ended = Signal()


class PullPolicy(models.TextChoices):
    MISSING = "missing", "when they are missing"
    ALWAYS = "always", "before each run"
    NEVER = "never", "never"


class QueueQuerySet(models.QuerySet["Queue"]):
    def usable_by(self, user: "User") -> "QueueQuerySet":
        """Queues that this organizer may use: own ones and the site's; all of them for an administrator."""
        return self if user.is_superuser else self.filter(Q(owner=None) | Q(owner=user))


class Queue(models.Model):
    """Runs wait here for a compute worker that holds the queue's token."""

    TOKEN_PREFIX: ClassVar = "podiumq_"

    name = OneLineField(max_length=63, unique=True, validators=[QUEUE_NAME])
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="queues",
        help_text="Leave empty to share it with all competitions on the site.",
    )
    token_digest = models.CharField(max_length=64, blank=True, editable=False)
    is_paused = models.BooleanField(default=False, help_text="No new run is given to a worker; runs wait.")
    contact = OneLineField(max_length=200, blank=True, help_text="Who runs the workers; shown to participants.")
    max_in_flight_per_team = models.PositiveSmallIntegerField(
        "runs in flight per team",
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text="Leave empty for no limit.",
    )
    separate_scoring = models.BooleanField(
        "scoring on workers of its own",
        default=False,
        help_text="Workers that run participants' code never get reference data. Each worker has to be started with a role.",
    )
    allowed_images = LongTextField(
        max_length=SHORT_TEXT,
        blank=True,
        validators=[validate_image_patterns],
        help_text=(
            "Container images that may run here, one pattern per line, such as <code>podium/*</code>. Leave empty to "
            "allow all."
        ),
    )
    pull_policy = models.CharField(
        "pull images",
        max_length=10,
        choices=PullPolicy,
        default=PullPolicy.MISSING,
        help_text="“Never”: the workers' hosts must already have the images; a missing one counts as the platform's fault.",
    )
    max_image_bytes = models.PositiveBigIntegerField(
        "largest team image (bytes)",
        default=30 * 1024**3,
        help_text="Limit for a team's own container image: both for the archive and for its unpacked layers.",
    )
    image_registries = LongTextField(
        max_length=SHORT_TEXT,
        blank=True,
        validators=[validate_registries],
        help_text=(
            "Registries whose images teams may name by digest, one per line, such as "
            "<code>registry.example.org</code> or <code>ghcr.io/lab</code>. Leave empty for none."
        ),
    )
    package_mirror = OneLineField(
        max_length=300,
        blank=True,
        validators=[validate_mirror],
        help_text=(
            "Index of Python packages (the “simple” API) that locked requirements are installed from, such as "
            "<code>https://mirror.example.org/simple/</code>. Workers must be able to reach it. Leave empty for none."
        ),
    )
    environment_time_limit_s = models.PositiveIntegerField(
        "time to build an environment (s)", default=900, validators=[MinValueValidator(1)]
    )
    environment_bytes = models.PositiveBigIntegerField(
        "limit for an environment (bytes)",
        default=8 * 1024**3,
        validators=[MinValueValidator(1024**2)],
        help_text="Limit for the wheels of one requirements.txt, and for what they install.",
    )
    gpu_hours_per_competition = models.PositiveIntegerField(
        "GPU hours a month for each competition",
        null=True,
        blank=True,
        validators=[MinValueValidator(1)],
        help_text=(
            "Once they are used up, runs with a GPU wait for the next month (UTC). Leave empty for no limit. The "
            "queue's page can set another number for a single competition."
        ),
    )
    created_at = models.DateTimeField(auto_now_add=True)

    objects = QueueQuerySet.as_manager()

    form: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "Queue": ("name", "contact", "is_paused", "max_in_flight_per_team", "separate_scoring"),
        "Cost": ("gpu_hours_per_competition",),
        "Images": ("allowed_images", "pull_policy"),
        "Environments of teams": (
            "max_image_bytes",
            "image_registries",
            "package_mirror",
            "environment_time_limit_s",
            "environment_bytes",
        ),
    }

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    @property
    def wakeup_queue(self) -> str:
        """Name of the Celery queue that wakes this queue's workers."""
        return f"compute.{self.name}"

    @property
    def allowed_images_text(self) -> str:
        """The first patterns, as in a sentence."""
        patterns = self.allowed_images.split()
        shown, more = patterns[:NAMED_IMAGES], len(patterns) - NAMED_IMAGES
        return ", ".join(shown) + (f" and {more} more" if more > 0 else "") or "all"

    def lacks_image(self, image: str, now: datetime) -> bool:
        """True when every worker that is at work has said which images its host has, and none has this one."""
        heard = now - timedelta(seconds=WORKER_SILENT_AFTER_S)
        workers = self.workers.filter(quarantined_at=None, last_seen_at__gt=heard)
        known = list(workers.values_list("images", flat=True))
        name = engine_name(image)
        return bool(known) and all(images is not None and name not in images for images in known)

    def pulls(self, image: str) -> bool:
        """True if workers pull this image if missing; not Podium's own, which hosts build."""
        return self.pull_policy != PullPolicy.NEVER and not image.startswith("podium/")

    def allows_image(self, image: str) -> bool:
        """True if a container image may run on this queue's workers."""
        patterns = self.allowed_images.split()
        return not patterns or any(fnmatchcase(image, pattern) for pattern in patterns)

    @property
    def registries(self) -> list[str]:
        """Registries, or parts of them, from which teams may name images by digest."""
        return self.image_registries.split()

    def allows_registry(self, name: ImageName) -> bool:
        """True if a team may use this image: its registry, or a folder above it there, is listed."""
        place = f"{name.registry or 'docker.io'}/{name.repository}"
        return any(place.startswith(f"{registry.rstrip('/')}/") for registry in self.registries)


def digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def issue_token(holder: "Queue | Launcher") -> str:
    """Make a new token for a queue or a launcher and return it, once; the old one ends at that moment."""
    secret = holder.TOKEN_PREFIX + secrets.token_urlsafe(32)
    holder.token_digest = digest(secret)
    holder.save(update_fields=["token_digest"])
    return secret


def revoke_token(holder: "Queue | Launcher") -> None:
    """End the token: nobody is heard with it any more until a new one is made."""
    holder.token_digest = ""
    holder.save(update_fields=["token_digest"])


def queue_give(queue: Queue, owner: "User | None") -> bool:
    """Give a queue to somebody else, or to the site; true if its token ended by that.

    Who owned it knows the token, and would go on to read what the new owner's workers get. Raises what a receiver of
    `queue_owner_changing` refuses; then nothing is written.
    """
    queue.owner = owner
    queue_owner_changing.send(sender=Queue, queue=queue)
    had_token = bool(queue.token_digest)
    queue.token_digest = ""
    queue.save(update_fields=["owner", "token_digest"])
    return had_token


def queue_by_token(secret: str) -> Queue | None:
    """The queue whose token this is."""
    return get_or_none(Queue.objects.filter(token_digest=digest(secret))) if secret else None


class ComputeWorker(models.Model):
    """A worker as it last described itself; a name on a queue is the same worker after a restart."""

    class Role(models.TextChoices):
        BOTH = "both", "ingestion and scoring"
        INGESTION = "ingestion", "ingestion only: never sees reference data"
        SCORING = "scoring", "scoring only: never runs participants' code"

    key = models.UUIDField(default=uuid.uuid4, unique=True, editable=False)
    queue = models.ForeignKey(Queue, on_delete=models.CASCADE, related_name="workers")
    name = OneLineField(max_length=100)
    instance = models.CharField(max_length=64)
    version = OneLineField(max_length=50)
    slots = models.PositiveSmallIntegerField(default=1)
    host = models.JSONField(default=dict, help_text="Hardware and software, as the worker reports them.")
    registered_at = models.DateTimeField()
    last_seen_at = models.DateTimeField()
    role = models.CharField(
        max_length=10, choices=Role, default=Role.BOTH, help_text="The stages it runs, as chosen when it was started."
    )
    images = models.JSONField(
        null=True,
        blank=True,
        help_text="Names of the images on its host, as the worker reports them; empty if not known.",
    )
    slot_faults = models.JSONField(default=list, help_text="Slots out of service, as the worker reports them.")
    self_test = models.JSONField(
        default=dict, help_text="The limits that hold on its host: when they were tested, and what failed."
    )
    calibration = models.JSONField(default=dict, help_text="Times for a fixed load, to compare hosts.")
    job = OneLineField(
        max_length=100,
        blank=True,
        default="",
        db_default="",
        db_index=True,
        help_text="Id of the cluster job that it runs as; empty for a permanent worker.",
    )
    recent_claims = models.JSONField(
        default=list, editable=False, help_text="Ids of its last claims, to recognize one that is sent twice."
    )
    drained_at = models.DateTimeField(null=True, blank=True, help_text="It has been given no new runs since then.")
    infrastructure_failures = models.PositiveSmallIntegerField(
        default=0, help_text="Teams in a row whose runs failed on it through the platform's fault."
    )
    failed_teams = models.JSONField(default=list, blank=True, editable=False, help_text="Ids of these teams.")
    quarantined_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["queue", "name"]
        constraints = [models.UniqueConstraint(fields=["queue", "name"], name="one_worker_per_queue_and_name")]

    def __str__(self) -> str:
        return f"{self.name} ({self.queue})"

    @property
    def gpu_count(self) -> int:
        return len(self.host.get("gpus", []))

    @property
    def has_sandbox(self) -> bool:
        """True if it runs participants' code in gVisor where a phase asks for it."""
        return Isolation.SANDBOXED in self.host.get("isolations", [])

    @property
    def unheld(self) -> frozenset[str]:
        """Limits that its host holds nobody to, by `HeldLimit`."""
        return frozenset(self.host.get("unheld", []))

    def is_silent(self, now: datetime) -> bool:
        """True when the worker has not been heard of for a minute."""
        return now - self.last_seen_at > timedelta(seconds=WORKER_SILENT_AFTER_S)

    def standing(self, now: datetime) -> str:
        """The reason that it takes no runs, in a word or two, or that it responds."""
        if self.quarantined_at is not None:
            return "in quarantine"
        if self.drained_at is not None:
            return "drained"
        return "silent" if self.is_silent(now) else "responding"


class Launcher(models.Model):
    """A program that keeps enough jobs in a cluster for the runs that wait.

    It sees queue depth, and reports its jobs.
    """

    TOKEN_PREFIX: ClassVar = "podiuml_"

    name = OneLineField(max_length=63, unique=True, validators=[QUEUE_NAME])
    queues = models.ManyToManyField(
        Queue, related_name="launchers", help_text="It sees how much waits on these, and reports jobs for them."
    )
    token_digest = models.CharField(max_length=64, blank=True, editable=False)
    version = OneLineField(max_length=50, blank=True, editable=False)
    source = OneLineField(
        max_length=200, blank=True, editable=False, help_text="The user and cluster that its last report came from."
    )
    problems = models.JSONField(
        default=list, editable=False, help_text="Problems that keep it from starting jobs, as last reported."
    )
    created_at = models.DateTimeField(auto_now_add=True)
    last_seen_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        ordering = ["name"]

    def __str__(self) -> str:
        return self.name

    def is_silent(self, now: datetime) -> bool:
        """True when it has not reported for five minutes: several of its rounds."""
        return self.last_seen_at is None or now - self.last_seen_at > timedelta(seconds=LAUNCHER_SILENT_AFTER_S)


class ClusterJob(models.Model):
    """A job that a launcher put into its cluster. Its row stays, for what it cost."""

    class State(models.TextChoices):
        PENDING = "pending", "waits for a node"
        RUNNING = "running", "runs"
        ENDED = "ended", "has ended"

    class End(models.TextChoices):
        COMPLETED = "completed", "by itself"
        FAILED = "failed", "with an error"
        TIMEOUT = "timeout", "at its time limit"
        PREEMPTED = "preempted", "preempted by another job"
        CANCELLED = "cancelled", "cancelled in the cluster"
        NODE_FAIL = "node_fail", "its node failed"
        OUT_OF_MEMORY = "out_of_memory", "out of memory"
        UNKNOWN = "unknown", "the cluster does not know it any more"
        KIND_REMOVED = "kind_removed", "its kind left the launcher's file"

    launcher = models.ForeignKey(Launcher, on_delete=models.PROTECT, related_name="jobs")
    queue = models.ForeignKey(Queue, on_delete=models.CASCADE, related_name="jobs")
    job = OneLineField(max_length=100, help_text="The job's id in the cluster.")
    kind = OneLineField(max_length=63, blank=True, help_text="One of the launcher's kinds of jobs.")
    state = models.CharField(max_length=10, choices=State)
    detail = OneLineField(
        max_length=300, blank=True, help_text="What the cluster says about it, such as why it is waiting."
    )
    end_reason = models.CharField(max_length=15, choices=End, blank=True)
    nodes = OneLineField(max_length=200, blank=True)
    gpus = models.PositiveSmallIntegerField(default=0)
    memory_bytes = models.PositiveBigIntegerField(null=True, blank=True)
    time_limit_s = models.PositiveBigIntegerField(null=True, blank=True)
    submitted_at = models.DateTimeField()
    expected_start_at = models.DateTimeField(null=True, blank=True, help_text="The cluster's own estimate.")
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    reported_at = models.DateTimeField(help_text="When the launcher last reported it.")

    class Meta:
        ordering = ["-submitted_at", "-pk"]
        constraints = [
            models.UniqueConstraint(fields=["launcher", "job", "submitted_at"], name="one_row_per_job_of_a_launcher"),
            models.CheckConstraint(
                name="job_end_iff_ended",
                condition=(
                    (Q(state="ended", ended_at__isnull=False) & ~Q(end_reason=""))
                    | (~Q(state="ended") & Q(ended_at__isnull=True, end_reason=""))
                ),
            ),
        ]
        indexes = [models.Index(fields=["queue", "state"], condition=~Q(state="ended"), name="job_alive")]

    def __str__(self) -> str:
        return f"{self.job} ({self.launcher})"
