"""The trial: a sample submission by the organizer's baseline team, scored like any other."""

from datetime import datetime

from accounts.models import User
from competitions.catalog.models import Competition
from competitions.catalog.services import current_rules
from competitions.organize.building.document import Sample
from competitions.resources.storage import CHUNK_BYTES
from competitions.resources.uploads import upload_whole
from competitions.submissions.models import Submission
from competitions.submissions.services import NewSubmission, submission_create
from competitions.submissions.states import Kind
from competitions.teams.services import register, team_create


def trial_begin(competition: Competition, *, sample: Sample, owner: User, now: datetime) -> Submission:
    """Send the sample in to the first phase. The refusals are those of any submission.

    Its row stays on the board as a baseline: what everybody should beat.
    """
    phase = competition.phases.select_related("competition__queue").earliest("index")
    rules = current_rules(competition)
    assert rules is not None, "every bundle of the guided path has rules"
    register(user=owner, competition=competition, rules_version=rules.number, now=now)
    team_create(user=owner, competition=competition, name=sample.team, now=now, is_baseline=True)
    with sample.path.open("rb") as file:
        upload = upload_whole(
            user=owner,
            file_name=sample.path.name,
            size_bytes=sample.path.stat().st_size,
            chunks=iter(lambda: file.read(CHUNK_BYTES), b""),
            now=now,
        )
    kind = Kind.CODE if sample.is_code else Kind.PREDICTION
    return submission_create(
        NewSubmission(user=owner, phase=phase, upload=upload, kind=kind, description=sample.team), now=now
    )
