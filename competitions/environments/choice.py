"""A submission's environment: weights and an image of its team, or an image by digest from a registry."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from competitions.catalog.models import Phase
from competitions.compute.models import Queue
from competitions.environments import refusals
from competitions.environments.models import EnvironmentFile
from competitions.teams.models import Team
from workers.protocol.images import ImageNameInvalid, parse_image


@dataclass(frozen=True)
class NamedEnvironment:
    """An environment as typed: `name@version`, `name` for its newest, or `registry/repository@sha256:…`."""

    weights: str = ""
    image: str = ""


NOTHING_NAMED: Final = NamedEnvironment()


@dataclass(frozen=True)
class Environment:
    """The weights and the image that a submission runs with."""

    weights: EnvironmentFile | None = None
    image: EnvironmentFile | None = None
    image_reference: str = ""


NO_ENVIRONMENT: Final = Environment()


def environment_choose(*, team: Team, phase: Phase, named: NamedEnvironment, now: datetime) -> Environment:
    """Find what a submission of the team names, and note that it was used. Call under the team's lock.

    Raises `EnvironmentNotAccepted`, `UnknownFile`, `FileNotReady`, `RegistryNotAllowed` or `REFERENCE_INVALID`.
    """
    weights, image = named.weights.strip(), named.image.strip()
    require_accepted(phase, weights=bool(weights), image=bool(image))
    is_reference = "@sha256:" in image
    environment = Environment(
        weights=_file(team, EnvironmentFile.Kind.WEIGHTS, weights) if weights else None,
        image=_file(team, EnvironmentFile.Kind.IMAGE, image) if image and not is_reference else None,
        image_reference=image_by_digest(phase, image) if is_reference else "",
    )
    used = [file.pk for file in (environment.weights, environment.image) if file is not None]
    EnvironmentFile.objects.filter(pk__in=used).update(last_used_at=now)
    return environment


def require_accepted(phase: Phase, *, weights: bool, image: bool) -> None:
    """Raise `EnvironmentNotAccepted` where the phase does not take what is brought."""
    for what, is_brought in (("weights", weights), ("image", image)):
        if is_brought and what not in phase.own_environment:
            raise refusals.EnvironmentNotAccepted(phase, what)


def _file(team: Team, kind: EnvironmentFile.Kind, reference: str) -> EnvironmentFile:
    name, at, version = reference.partition("@")
    rows = EnvironmentFile.objects.filter(team=team, kind=kind, name=name).order_by("-version")
    if at:
        rows = rows.filter(version=int(version)) if version.isascii() and version.isdigit() else rows.none()
    else:
        rows = rows.exclude(state=EnvironmentFile.State.REMOVED)
    file = rows.first()
    if file is None:
        raise refusals.UnknownFile(kind, reference)
    if file.state != EnvironmentFile.State.READY:
        raise refusals.FileNotReady(file)
    return file


def image_by_digest(phase: Phase, reference: str) -> str:
    """The reference of a registry's image for engines. Raises `REFERENCE_INVALID` or `RegistryNotAllowed`."""
    try:
        name = parse_image(reference)
    except ImageNameInvalid as error:
        raise refusals.REFERENCE_INVALID(detail=str(error)) from error
    if name.tag:
        raise refusals.REFERENCE_INVALID(
            detail=f"The image {reference[:200]!r} has a tag and a digest. Leave the tag out: the digest says which image it is."
        )
    queue = phase.competition.queue
    if not queue.allows_registry(name):
        raise refusals.RegistryNotAllowed(name.registry, queue.registries)
    return str(name)


def submission_environment(submission: Any) -> Environment:
    """The environment of a submission."""
    return Environment(submission.weights, submission.image, submission.image_reference)


def fault_of_mirror(queue: Queue) -> str:
    """A sentence on why a queue cannot install locked requirements; empty if it can."""
    if queue.package_mirror:
        return ""
    return f"The queue {queue.name} has no package mirror, so no locked requirements can be installed."


def faults_of_choice(submission: Any) -> str:
    """A sentence on why a submission's environment cannot be handed out now; empty if it can.

    Files may have been removed since, and a queue's registries changed, before an old submission is run again.
    """
    for file in (submission.weights, submission.image):
        if file is not None and file.state != EnvironmentFile.State.READY:
            return f"{file} was removed since. Upload it again and make a new submission."
    if not submission.image_reference:
        return ""
    queue: Queue = submission.phase.competition.queue
    if not queue.allows_registry(parse_image(submission.image_reference)):
        return f"The queue {queue.name} takes no images from the registry of {submission.image_reference} any more."
    return ""
