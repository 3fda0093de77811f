"""Certificates of participation: members of ranked teams make them, and the boards prove them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from accounts.models import User
from competitions.catalog.models import Competition
from competitions.leaderboards.reading.results import final_boards, load_boards
from competitions.people.models import Certificate
from competitions.people.public import PublicRank, final_ranks
from competitions.teams.models import Membership, Team
from core.refusals import RefusalKind

NO_CERTIFICATES: Final = RefusalKind(409, "no_certificates", "“{competition}” does not issue certificates.")
NOT_OVER: Final = RefusalKind(
    409,
    "competition_not_over",
    "“{competition}” is not over: certificates are made once all phases are closed and all leaderboards are open.",
)
NOT_RANKED: Final = RefusalKind(
    409,
    "not_ranked",
    "You are in no team on a final leaderboard of “{competition}”, so there is nothing to certify.",
)
CERTIFICATE_VOID: Final = RefusalKind(
    410,
    "certificate_void",
    "This certificate is no longer valid: its person is in no team on a final leaderboard of “{competition}”.",
)


@dataclass(frozen=True)
class Certified:
    """A person's team, and its rank on each final board."""

    team: Team
    ranks: Sequence[PublicRank]


def certify(user: User, competition: Competition, now: datetime) -> Certified | None:
    """The part that a person took; None while the competition is not over, or without a ranked team."""
    return _ranked(user, competition, now) if _is_over(competition, now) else None


def _is_over(competition: Competition, now: datetime) -> bool:
    phases = list(competition.phases.all())
    load_boards(phases)
    return bool(final_boards(phases, now))


def _ranked(user: User, competition: Competition, now: datetime) -> Certified | None:
    membership = Membership.objects.filter(user=user, competition=competition).select_related("team").first()
    if membership is None or membership.team.is_baseline:
        return None
    ranks = final_ranks(membership.team, now)
    return Certified(membership.team, ranks) if ranks else None


def make_certificate(*, user: User, competition: Competition, name: str, now: datetime) -> Certificate:
    """The person's certificate, under the name that it is to show; made again, it keeps its address.

    Raises `NO_CERTIFICATES`, `NOT_OVER`, `NOT_RANKED`, or `ValidationError` for the name; then nothing is changed.
    """
    if not competition.gives_certificates:
        raise NO_CERTIFICATES(competition=competition)
    if not _is_over(competition, now):
        raise NOT_OVER(competition=competition)
    if _ranked(user, competition, now) is None:
        raise NOT_RANKED(competition=competition)
    draft = Certificate(user=user, competition=competition, name=name, made_at=now)
    draft.clean_fields()
    certificate, _ = Certificate.objects.update_or_create(
        user=user,
        competition=competition,
        defaults={"name": draft.name},
        create_defaults={"name": draft.name, "made_at": now},
    )
    return certificate


def require_certified(certificate: Certificate, now: datetime) -> Certified:
    """The part that the certificate proves today. Raises `CERTIFICATE_VOID`."""
    certified = certify(certificate.user, certificate.competition, now)
    if certified is None or not certificate.competition.gives_certificates:
        raise CERTIFICATE_VOID(competition=certificate.competition)
    return certified
