"""Warnings for organizers of a competition that cannot work as it is set up.

Apps above this one add their own checks with `@readiness_check`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from django.db.models import Q
from django.utils import timezone

from competitions.catalog.changes.phases import NO_GPU_IN_SANDBOX
from competitions.catalog.models import Competition, Phase
from competitions.catalog.queue_rights import faults_on_queue, foreign_image_text, has_foreign_image
from competitions.compute.images import is_image
from competitions.compute.models import ComputeWorker
from files.images import image_name
from workers.protocol.images import ImageNameInvalid, parse_image


@dataclass(frozen=True)
class ReadinessWarning:
    """One thing that cannot work. `where` names the part, `text` says what is wrong and what to do."""

    code: str
    where: str
    text: str


Check = Callable[[Competition], Iterator[ReadinessWarning]]
_checks: list[Check] = []


def readiness_check(check: Check) -> Check:
    """Add a check to `competition_warnings`."""
    _checks.append(check)
    return check


def competition_warnings(competition: Competition) -> list[ReadinessWarning]:
    """Everything that would keep participants from submitting, or their submissions from being scored."""
    return [warning for check in _checks for warning in check(competition)]


@readiness_check
def rules_exist(competition: Competition) -> Iterator[ReadinessWarning]:
    if not competition.rules_versions.exists():
        yield ReadinessWarning(
            "no_rules", "Rules", "There are no rules, so nobody can register. Publish a first version."
        )


@readiness_check
def phases_can_be_used(competition: Competition) -> Iterator[ReadinessWarning]:
    phases = list(competition.phases.select_related("smoke_task").prefetch_related("tasks"))
    if not phases:
        yield ReadinessWarning("no_phase", "Phases", "There is no phase, so nobody can submit. Add one.")
    for phase in phases:
        yield from _phase_warnings(phase)


def _phase_warnings(phase: Phase) -> Iterator[ReadinessWarning]:
    tasks = list(phase.tasks.all())
    try:
        parse_image(phase.image_name)
    except ImageNameInvalid as error:
        yield ReadinessWarning("image_name", phase.name, str(error))
    if not tasks:
        yield ReadinessWarning("no_task", phase.name, "The phase has no task, so nothing can be scored. Add one.")
    if not (phase.accepts_predictions or phase.accepts_code):
        yield ReadinessWarning(
            "accepts_nothing", phase.name, "The phase accepts neither predictions nor code. Tick one of them."
        )
    if "table" in (phase.prediction_format or {}) and phase.sample_submission_id is None:
        yield ReadinessWarning(
            "no_sample",
            phase.name,
            "There is no sample submission, so wrong ids of tables show only when they are scored. Add one.",
        )
    if phase.smoke_task is not None and (why := phase.smoke_task.hidden_part(phase.competition)):
        yield ReadinessWarning(
            "smoke_task_hidden", phase.name, f"Code is refused, because its smoke run would show hidden data. {why}"
        )
    for task in tasks:
        if has_foreign_image(task, phase):
            yield ReadinessWarning("image_of_task", f"{phase.name}, {task.name}", foreign_image_text(task, phase))
        if task.reference_data_id is None:
            yield ReadinessWarning(
                "no_reference", f"{phase.name}, {task.name}", "The task has no reference data to score against."
            )
        if phase.accepts_code and task.input_data_id is None:
            yield ReadinessWarning(
                "no_input", f"{phase.name}, {task.name}", "Code is accepted, but the task has no input data."
            )


@readiness_check
def phases_do_not_overlap_by_accident(competition: Competition) -> Iterator[ReadinessWarning]:
    """Warn of phases that overlap with the same visibility; public beside sealed is usual."""
    phases = sorted(competition.phases.all(), key=lambda phase: phase.opens_at)
    for first, second in pairwise(phases):
        overlap = first.closes_at is None or second.opens_at < first.closes_at
        if overlap and first.visibility == second.visibility:
            yield ReadinessWarning(
                "phases_overlap",
                f"{first.name}, {second.name}",
                f"“{second.name}” opens before “{first.name}” closes. Move one of the two dates.",
            )


def _sandbox_warnings(competition: Competition, workers: Sequence[ComputeWorker]) -> Iterator[ReadinessWarning]:
    """Warn of phases in gVisor that no worker takes, or whose programs no worker would run there."""
    phases = [phase for phase in competition.phases.prefetch_related("tasks") if phase.is_sandboxed]
    if phases and workers and not any(worker.has_sandbox for worker in workers):
        yield ReadinessWarning(
            "no_sandbox_worker",
            f"Queue {competition.queue}",
            "A phase runs code in gVisor, but no worker of this queue has it. Install gVisor on a worker's host, or choose a container.",
        )
    for phase in phases:
        if phase.gpus:
            yield ReadinessWarning("sandbox_with_gpu", phase.name, NO_GPU_IN_SANDBOX)
        if any(task.runs_beside_scoring for task in phase.tasks.all()):
            yield ReadinessWarning(
                "sandbox_beside_scoring",
                phase.name,
                "Its code runs in gVisor, and one of its tasks has the ingestion program run beside the scoring program, where gVisor does "
                "not keep the two apart. Choose a container, or run the ingestion program first.",
            )


@readiness_check
def somebody_runs_it(competition: Competition) -> Iterator[ReadinessWarning]:
    queue = competition.queue
    workers = list(ComputeWorker.objects.filter(queue=queue, quarantined_at=None))
    if not workers:
        yield ReadinessWarning(
            "no_worker", f"Queue {queue}", "No compute worker has registered for this queue. Start one."
        )
    elif competition.phases.filter(gpus__gt=0).exists() and not any(worker.gpu_count for worker in workers):
        yield ReadinessWarning(
            "no_gpu_worker", f"Queue {queue}", "A phase asks for a GPU, but no worker of this queue has one."
        )
    yield from _sandbox_warnings(competition, workers)
    for image in sorted({phase.image_name for phase in competition.phases.all()}):
        if is_image(image) and queue.lacks_image(image, timezone.now()):
            how = "They pull it for its first run" if queue.pulls(image) else "Until one has it, nothing is accepted"
            yield ReadinessWarning(
                "no_image",
                f"Queue {queue}",
                f"No compute worker has the image {image}. {how}: have it on the workers' hosts, or name another.",
            )
        if not queue.allows_image(image):
            yield ReadinessWarning(
                "image_forbidden",
                f"Queue {queue}",
                f"The image {image} is not allowed on this queue; allowed are: {queue.allowed_images_text}.",
            )
    for fault in faults_on_queue(competition, queue):
        yield ReadinessWarning("queue_not_allowed", f"Queue {queue}", f"{fault} Until then these runs fail uncharged.")
    if queue.is_paused:
        yield ReadinessWarning(
            "queue_paused", f"Queue {queue}", "The queue is paused; submissions wait until it is resumed."
        )


@readiness_check
def images_of_pages_are_there(competition: Competition) -> Iterator[ReadinessWarning]:
    with_images = competition.pages.filter(Q(body__contains="![") | Q(body__icontains="<img"))
    names = set(competition.images.values_list("name", flat=True)) if with_images else set()
    names |= set(competition.image_uploads.filter(fault="").values_list("name", flat=True)) if with_images else set()
    for page in with_images:
        missing = [source for source in page.rendering.sources if image_name(source) not in names]
        if missing:
            yield ReadinessWarning(
                "no_page_image",
                f"Page {page.title}",
                f"The image {missing[0][:80]} is not shown: it is not among the competition's images, and pages show none of other sites. "
                "Upload it, and write its name.",
            )


@readiness_check
def it_is_published(competition: Competition) -> Iterator[ReadinessWarning]:
    if not competition.is_published:
        when = f"It will be published at {competition.publish_at:%Y-%m-%d %H:%M} UTC." if competition.publish_at else ""
        yield ReadinessWarning(
            "not_published",
            "Competition",
            f"This is a draft that only its organizers see. {when or 'Publish it when ready.'}",
        )
