"""Access to submissions and their logs."""

from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.db.models import Exists, OuterRef, Q, QuerySet, Value

from accounts.models import User
from competitions.catalog.models import Competition, Phase
from competitions.submissions.models import Submission
from competitions.teams.models import Membership


def _teams(user: int) -> QuerySet[Any, tuple[str, int]]:
    return Membership.objects.filter(user=user).order_by().values_list(Value("team"), "team")


def _teams_and_phases(user: int) -> QuerySet[Any, tuple[str, int]]:
    """Numbers of the user's teams, and of the phases that the user organizes: each with what it is of."""
    organized = Phase.objects.filter(competition__in=Competition.objects.managed_by(User(pk=user)))
    return _teams(user).union(organized.order_by().values_list(Value("phase"), "pk"), all=True)


def visible_scope(user: User | AnonymousUser, *, as_member: bool = False) -> dict[str, list[int]] | None:
    """Teams and phases whose submissions this person may see, for `submissions_in`; None: all.

    These are their own teams and the phases that they organize, `as_member` the teams alone; an empty kind is left out. They are named
    by number: with subqueries in the `OR`, PostgreSQL scans all submissions backwards until it has a page (0.4 s at a million).
    """
    if not user.is_authenticated:
        return {}
    if user.is_superuser and not as_member:
        return None
    rows = list(_teams(user.pk) if as_member else _teams_and_phases(user.pk))
    named = {f"{kind}s": [pk for what, pk in rows if what == kind] for kind in ("team", "phase")}
    return {kind: numbers for kind, numbers in named.items() if numbers}


def submissions_in(*, teams: Sequence[int] = (), phases: Sequence[int] = ()) -> QuerySet[Submission]:
    """Submissions of these teams and to these phases, without verifications of winners' code."""
    condition = Q(pk__in=[])
    if teams:
        condition |= Q(team__in=teams, is_check=False)
    if phases:
        condition |= Q(phase__in=phases)
    return Submission.objects.filter(condition)


def open_to_robot(user: User) -> QuerySet[Submission]:
    """Submissions of others that a service account may run again, but not read.

    Those of no team, which are the organizers' own, are none of them: their scores would be told.
    """
    if not user.is_robot:
        return Submission.objects.none()
    return Submission.objects.filter(
        Exists(Membership.objects.filter(team=OuterRef("team"))),
        phase__competition__in=Competition.objects.visible_to(user).filter(allow_robot_submissions=True),
    )


def repeats_by(user: User) -> QuerySet[Submission]:
    """Other teams' submissions that a service account ran again: it sees their status and public scores."""
    return open_to_robot(user).filter(submitted_by=user).exclude(rerun_of=None)


def team_submissions(team: int) -> QuerySet[Submission]:
    """A team's submissions as it knows them: without the checks of a winner's code on other input."""
    return Submission.objects.filter(team=team, is_check=False)


def tagged(submissions: QuerySet[Submission], tag: str) -> QuerySet[Submission]:
    """The submissions with this tag; for those of a few teams, as no index has the tags."""
    return submissions.filter(tag_text__contains=f" {tag.lower()} ")


def visible_submissions(user: User | AnonymousUser, *, as_member: bool = False) -> QuerySet[Submission]:
    """The submissions of the user's teams, and unless `as_member` of competitions that the user organizes."""
    scope = visible_scope(user, as_member=as_member)
    return Submission.objects.all() if scope is None else submissions_in(**scope)
