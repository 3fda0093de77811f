"""The data of a person as JSON, as they may see it now; nothing sealed, whatever their rights."""

import json
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any, Final

from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import Model, Prefetch
from django.urls import reverse

from accounts.models import ApiToken, Block, ProfileReport, User
from accounts.people.profiles import profile_for
from competitions.disclosure.readers import Reader
from competitions.disclosure.receipts import disclosed_receipt
from competitions.discussions.models import Post, Report, Subscription
from competitions.leaderboards.reading.results import known_results, load_boards, with_scores
from competitions.notifications.models import Notification, NotificationPreference
from competitions.people.models import Certificate
from competitions.runs.models import Run
from competitions.submissions.access import submissions_in
from competitions.submissions.models import Submission
from competitions.teams.models import Invitation, Membership, Registration

Row = Mapping[str, object]
MOST_ROWS: Final = 50_000  # of a kind, the newest
AT_ONCE: Final = 200  # submissions read together
README: Final = """Your data on {site}, written on {now:%Y-%m-%d %H:%M} UTC.

Each file has one kind of data, at most {most:,} rows of it, the newest. Scores and receipts are what you may see today: sealed ones are not
here, and neither are secrets of tokens or passwords. Files that your team sent in are named by their address (file_url), where you download
them while you are signed in.
"""


def export_write(user: User, target: Path, now: datetime) -> None:
    """Write the zip; row by row, so that memory does not grow with what somebody has."""
    readme = README.format(site=settings.BRAND.name, now=now, most=MOST_ROWS)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("README.txt", readme)
        for name, rows in DOCUMENTS.items():
            with archive.open(f"{name}.json", "w", force_zip64=True) as file:
                for part in _as_json(islice(rows(user, now), MOST_ROWS)):
                    file.write(part.encode())


def _as_json(rows: Iterable[Row]) -> Iterator[str]:
    yield "["
    for number, row in enumerate(rows):
        yield (",\n" if number else "\n") + json.dumps(row, cls=DjangoJSONEncoder, ensure_ascii=False)
    yield "\n]\n"


def _account(user: User, now: datetime) -> Iterator[Row]:
    yield {
        "username": user.username,
        "email": user.email,
        "first_name": user.first_name,
        "last_name": user.last_name,
        "affiliation": user.affiliation,
        "joined_at": user.date_joined,
        "last_sign_in_at": user.last_login,
        "addresses": list(EmailAddress.objects.filter(user=user).values("email", "verified", "primary")),
        "connected_accounts": list(SocialAccount.objects.filter(user=user).values("provider", "uid", "date_joined")),
        "second_factors": list(Authenticator.objects.filter(user=user).values("type", "created_at", "last_used_at")),
    }


PROFILE_FIELDS: Final = (
    "is_public",
    "is_indexed",
    "name",
    "about",
    "orcid",
    "github",
    "website",
    "shows_competitions",
    "shows_ranks",
    "shows_teams",
)


def _profile(user: User, now: datetime) -> Iterator[Row]:
    profile = profile_for(user)
    yield {name: getattr(profile, name) for name in PROFILE_FIELDS}


def _teams(user: User, now: datetime) -> Iterator[Row]:
    rows = Membership.objects.filter(user=user).select_related("team", "competition")
    for row in rows.order_by("-pk"):
        is_captain = row.team.captain_id == user.pk
        yield {
            "competition": row.competition.slug,
            "team": row.team.name,
            "is_captain": is_captain,
            "joined_at": row.joined_at,
        }


def _submissions(user: User, now: datetime) -> Iterator[Row]:
    """The submissions of the person's teams, with scores and receipts as members see them."""
    teams = list(Membership.objects.filter(user=user).values_list("team", flat=True))
    reader = Reader(User(pk=user.pk), now, known_rights={})
    runs = Prefetch("runs", queryset=Run.objects.select_related("task"))
    rows = (
        submissions_in(teams=teams).select_related("team", "submitted_by", "phase__competition").prefetch_related(runs)
    )
    last: int | None = None
    while chunk := list((rows if last is None else rows.filter(pk__lt=last)).order_by("-pk")[:AT_ONCE]):
        load_boards([submission.phase for submission in chunk])
        for scored in with_scores(chunk):
            values = known_results(scored, reader).values
            yield _submission(scored.submission, reader) | {
                "scores": [{"column": column.key, "score": value} for column, value in values]
            }
        last = chunk[-1].pk


def _submission(row: Submission, reader: Reader) -> dict[str, object]:
    return {
        "id": row.pk,
        "competition": row.phase.competition.slug,
        "phase": row.phase.slug,
        "team": row.team.name,
        "submitted_by": row.submitted_by.get_username(),
        "kind": row.kind,
        "file_name": row.file_name,
        "file_sha256": row.file_id,
        "file_url": settings.SITE_URL + reverse("web:submission-file", args=[row.pk]),
        "description": row.description,
        "tags": list(row.tags),
        "commit": row.commit,
        "link": row.link,
        "fact_sheet": row.fact_sheet,
        "status": row.status,
        "reason": row.reason,
        "received_at": row.received_at,
        "receipts": [
            {"task": run.task.name, "receipt": disclosed_receipt(reader, row.phase, run.receipt, run=run)}
            for run in row.runs.all()
        ],
    }


def _posts(user: User, now: datetime) -> Iterator[Row]:
    """Own posts; of those that their author deleted, that they were there."""
    rows = Post.objects.filter(author=user).select_related("topic__competition").order_by("-pk")
    for row in rows.iterator(chunk_size=AT_ONCE):
        is_deleted = row.state == Post.State.DELETED
        yield {
            "competition": row.topic.competition.slug,
            "topic": row.topic.title,
            "state": row.state,
            "text": "" if is_deleted else row.body,
            "created_at": row.created_at,
            "edited_at": row.edited_at,
        }


def _certificates(user: User, now: datetime) -> Iterator[Row]:
    for row in Certificate.objects.filter(user=user).select_related("competition").order_by("-pk"):
        url = settings.SITE_URL + row.address
        yield {"competition": row.competition.slug, "name": row.name, "made_at": row.made_at, "url": url}


Document = Callable[[User, datetime], Iterator[Any]]


def _values(model: type[Model], whose: str, *names: str) -> Document:
    """The values of the rows whose field `whose` is the person."""

    def rows(user: User, now: datetime) -> Iterator[Row]:
        own = model._default_manager.filter(**{whose: user})
        newest_first = own if own.ordered else own.order_by("-pk")
        return newest_first.values(*names).iterator(chunk_size=AT_ONCE)

    return rows


DOCUMENTS: Final[dict[str, Document]] = {
    "account": _account,
    "profile": _profile,
    "tokens": _values(
        ApiToken, "user", "name", "hint", "scopes", "created_at", "expires_at", "last_used_at", "revoked_at"
    ),
    "registrations": _values(
        Registration,
        "user",
        *("competition__slug", "state", "rules_version__number", "accepted_at", "answers", "decided_reason"),
    ),
    "teams": _teams,
    "invitations": _values(
        Invitation, "user", "team__name", "team__competition__slug", "state", "created_at", "expires_at"
    ),
    "submissions": _submissions,
    "posts": _posts,
    "reports": _values(Report, "reporter", "competition__slug", "post", "text", "created_at"),
    "profile-reports": _values(ProfileReport, "reporter", "profile__user__username", "text", "created_at"),
    "blocks": _values(Block, "by", "person__username", "created_at"),
    "subscriptions": _values(Subscription, "user", "competition__slug", "topic__title", "is_on"),
    "certificates": _certificates,
    "notifications": _values(
        Notification,
        "user",
        *("kind", "competition__slug", "subject", "text", "path", "created_at", "read_at", "mailed_at"),
    ),
    "notification-preferences": _values(NotificationPreference, "user", "kind", "competition__slug", "delivery"),
}
