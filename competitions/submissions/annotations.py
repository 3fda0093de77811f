"""Words of a team on its submission, to change later: tags, commit, link, and its fact sheet.

Tags are for the team and the organizers. Commit and link are public where the submission stands on a board.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.core.exceptions import ValidationError
from django.db import transaction

from accounts.links import require_ascii_link
from accounts.models import User
from competitions.factsheets.services import fact_sheet_questions, read_fact_sheet
from competitions.submissions.models import FactSheetRevision, Submission
from competitions.submissions.signals import source_changed, submission_settled
from competitions.teams.models import Membership
from competitions.teams.services import require_admitted
from core.refusals import RefusalKind

MAX_TAGS: Final = 10
LONGEST_TAG: Final = 30
TAG: Final = re.compile(r"\w(?:[\w.+:/-]{0,28}\w)?|\w[+#]{1,2}")
COMMIT: Final = re.compile(r"[0-9a-f]{7,64}", re.ASCII)
SHOWN_CHARS: Final = 60  # of a value that is refused

ANNOTATION_INVALID: Final = RefusalKind(422, "annotation_invalid", "{field}: {detail}", tells=("field",))

NOT_YOUR_ANNOTATIONS: Final = RefusalKind(
    403,
    "not_of_your_team",
    "Submission #{submission.pk} is another team's. Its own team writes its tags, commit and link; organizers may remove commit and link.",
)


@dataclass(frozen=True)
class Annotations:
    """Annotations that `read_annotations` has checked."""

    tags: tuple[str, ...] = ()
    commit: str = ""
    link: str = ""


NO_ANNOTATIONS: Final = Annotations()


def split_tags(text: str) -> list[str]:
    """The tags in a text that a person typed, between blanks and commas.

    >>> split_tags("GIN, dropout 0.3")
    ['GIN', 'dropout', '0.3']
    """
    return text.replace(",", " ").split()


def read_annotations(*, tags: Sequence[str] = (), commit: str = "", link: str = "") -> Annotations:
    """Annotations, checked and in one form: tags and commit in small letters, each tag once.

    Raises `ANNOTATION_INVALID`.
    """
    return Annotations(_tags(tags), _commit(commit), _link(link))


def _tags(given: Sequence[str]) -> tuple[str, ...]:
    if len(given) > MAX_TAGS:
        raise ANNOTATION_INVALID(field="tags", detail=f"there are {len(given)}; {MAX_TAGS} are allowed.")
    tags = tuple(dict.fromkeys(tag.strip().lower() for tag in given))
    if (wrong := next((tag for tag in tags if not TAG.fullmatch(tag)), None)) is not None:
        raise ANNOTATION_INVALID(
            field="tags",
            detail=f"{wrong[:SHOWN_CHARS]!r} is not a tag. A tag is one word of at most 30 letters, digits and . _ - + : / "
            "that begins with a letter or digit, such as gin-virtual or lr:0.01.",
        )
    return tags


def _commit(given: str) -> str:
    commit = given.strip().lower()
    if commit and not COMMIT.fullmatch(commit):
        raise ANNOTATION_INVALID(
            field="commit",
            detail=f"{commit[:SHOWN_CHARS]!r} is not a commit. Write its hash, 7 to 64 hexadecimal digits, as `git rev-parse HEAD` "
            "prints it.",
        )
    return commit


def _link(given: str) -> str:
    link = given.strip()
    if link:
        try:
            require_ascii_link(link)
        except ValidationError as error:
            raise ANNOTATION_INVALID(field="link", detail=" ".join(error.messages)) from error
    return link


@transaction.atomic
def annotations_edit(*, submission: Submission, annotations: Annotations, by: User, organizes: bool = False) -> bool:
    """Replace a submission's annotations; False when nothing changed. Boards follow commit and link.

    Its team may write them at any time, since a paper often comes after the end; an organizer may only remove commit and link.
    Raises `NOT_YOUR_ANNOTATIONS` or why the person is not admitted.
    """
    rows = Submission.objects.select_for_update(of=("self",), no_key=True)
    locked = rows.select_related("phase__competition").get(pk=submission.pk)
    if not Membership.objects.filter(team=locked.team_id, user=by).exists():
        is_removal = annotations.commit in ("", locked.commit) and annotations.link in ("", locked.link)
        if not organizes or not is_removal or annotations.tags != locked.tags:
            raise NOT_YOUR_ANNOTATIONS(submission=submission)
    else:
        require_admitted(user=by, competition=locked.phase.competition)
    before = Annotations(locked.tags, locked.commit, locked.link)
    if annotations == before:
        return False
    locked.annotate(annotations.tags, commit=annotations.commit, link=annotations.link)
    locked.save(update_fields=["tag_text", "commit", "link"])
    if (before.commit, before.link) != (annotations.commit, annotations.link):
        source_changed.send(sender=Submission, submission=locked)
    return True


FACT_SHEET_CLOSED: Final = RefusalKind(
    409,
    "fact_sheet_closed",
    "The fact sheet of submission #{submission.pk} could be changed until "
    "{submission.phase.closes_at:%Y-%m-%d %H:%M} UTC. Ask the organizers if something in it is wrong.",
)

NOT_YOUR_FACT_SHEET: Final = RefusalKind(
    403, "not_of_your_team", "Submission #{submission.pk} is another team's. Only its own team answers for it."
)


def fact_sheet_is_open(submission: Submission, now: datetime) -> bool:
    return submission.phase.closes_at is None or now < submission.phase.closes_at


@transaction.atomic
def fact_sheet_edit(*, submission: Submission, answers: object, by: User, now: datetime) -> bool:
    """Replace the answers and keep the former ones as history; False when nothing changed. Boards follow.

    Raises `NOT_YOUR_FACT_SHEET`, why the person is not admitted, `FACT_SHEET_CLOSED` after the phase's deadline, or `FactSheetInvalid`;
    then nothing is changed.
    """
    if not Membership.objects.filter(team=submission.team_id, user=by).exists():
        raise NOT_YOUR_FACT_SHEET(submission=submission)
    require_admitted(user=by, competition=submission.phase.competition)
    if not fact_sheet_is_open(submission, now):
        raise FACT_SHEET_CLOSED(submission=submission)
    checked = read_fact_sheet(fact_sheet_questions(submission.phase), answers)
    rows = Submission.objects.select_for_update(of=("self",), no_key=True)
    locked = rows.select_related("phase", "team").get(pk=submission.pk)
    if locked.fact_sheet == checked:
        return False
    locked.fact_sheet = checked
    locked.save(update_fields=["fact_sheet"])
    FactSheetRevision.objects.create(submission=locked, answers=checked, changed_by=by, changed_at=now)
    if locked.is_final:
        submission_settled.send(sender=Submission, submission=locked)
    return True
