"""The organizer's list of teams, what a team's page shows, and what is done to teams that are chosen."""

import csv
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django import forms
from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from competitions.catalog.models import Column, Competition, Leaderboard, Phase
from competitions.disclosure.readers import Reader
from competitions.disclosure.scores import visible_columns
from competitions.leaderboards.models import Entry
from competitions.leaderboards.ranking.values import primary_column
from competitions.leaderboards.reading.results import load_boards
from competitions.organize.forms import ListForm
from competitions.organize.refusals import REASON_MISSING
from competitions.submissions.models import Submission
from competitions.submissions.services import team_disqualify, team_reinstate
from competitions.teams.models import Membership, MergeProposal, OfferState, Team
from competitions.web.forms import offer
from core.spreadsheets import Echo, safe_cell

CHUNK: Final = 500  # teams that a download reads at once
SHOWN: Final[Mapping[str, tuple[str, Q]]] = {
    "active": ("Taking part", Q(disqualified_at=None, is_baseline=False)),
    "idle": ("Without submissions", Q(submission_count=0)),
    "disqualified": ("Disqualified", Q(disqualified_at__isnull=False)),
    "baseline": ("Baselines", Q(is_baseline=True)),
}
ACTIONS: Final[Mapping[str, tuple[str, str]]] = {
    "disqualify": ("Disqualify", "disqualified"),
    "reinstate": ("Undo a disqualification", "reinstated"),
}
MAIL: Final = "mail"  # an action of the list that changes nothing: it leads to the form


class TeamFilter(ListForm):
    """Filters of the list of teams."""

    team = forms.CharField(label="Name or member", required=False, max_length=60)
    show = forms.ChoiceField(
        required=False, choices=[("", "All teams"), *((name, words) for name, (words, _) in SHOWN.items())]
    )
    phase = forms.ModelChoiceField(
        Phase.objects.none(), label="Best score in", required=False, empty_label="The phase that is open"
    )

    def __init__(self, competition: Competition, data: Mapping[str, object]) -> None:
        super().__init__(data)
        self.competition = competition
        offer(self, "phase", competition.phases.all())
        self.is_valid()

    def narrowed(self, best: "BestColumn | None") -> QuerySet[Any]:
        """The competition's teams that the address asks for, the newest first."""
        rows = listed_teams(self.competition, best)
        values = self.cleaned_data
        if text := values.get("team"):
            member = Q(user__username__iexact=text) | Q(user__email__iexact=text)
            teams = Membership.objects.filter(member, competition=self.competition).values("team")
            rows = rows.filter(Q(searched_name__contains=text.lower()) | Q(pk__in=teams))
        if show := values.get("show"):
            rows = rows.filter(SHOWN[show][1])
        return self.filtered(rows)


@dataclass(frozen=True)
class BestColumn:
    """The board whose scores stand in the list, and the column that decides there."""

    board: Leaderboard
    column: Column

    @property
    def title(self) -> str:
        return f"{self.column.title}, {self.board.phase.name}"


def best_column(competition: Competition, chosen: Phase | None, reader: Reader) -> BestColumn | None:
    """Best column of the chosen phase, else the open or the last one; None if scores are not visible."""
    phases = list(competition.phases.all())
    load_boards(phases)
    is_meant = [candidate for candidate in phases if chosen is not None and candidate.pk == chosen.pk]
    phase = next(
        iter([*is_meant, *(candidate for candidate in phases if candidate.is_open(reader.now)), *phases[-1:]]), None
    )
    board = phase.main_board if phase is not None else None
    column = primary_column(list(board.columns.all())) if board is not None else None
    if board is None or column is None or column not in visible_columns(reader, board):
        return None
    return BestColumn(board, column)


def listed_teams(competition: Competition, best: BestColumn | None) -> QuerySet[Any]:
    """Teams with members, number and time of submissions, and the values of their best row on a board."""
    sent = Submission.objects.filter(team=OuterRef("pk"), is_check=False).order_by()
    counted = sent.values("team").annotate(number=Count("pk")).values("number")
    rows = Team.objects.filter(competition=competition, merged_into=None).annotate(
        submission_count=Coalesce(Subquery(counted), 0), last_at=Subquery(sent.order_by("-pk").values("created_at")[:1])
    )
    if best is not None:
        entries = Entry.objects.filter(leaderboard=best.board, team=OuterRef("pk")).order_by(*Entry.IN_ORDER)
        rows = rows.annotate(best_values=Subquery(entries.values("values")[:1]))
    return rows.select_related("captain").prefetch_related("memberships__user")


def best_score(team: Any, best: BestColumn | None) -> str:
    """The team's best score as the board shows it; `team` comes from `listed_teams`."""
    values = team.best_values if best is not None else None
    return (best.column.shown_in(values) or "") if best is not None and values else ""


def team_history(team: Team) -> list[tuple[datetime, str]]:
    """The history of the team and its people, newest first."""
    merges = MergeProposal.objects.filter(team=team, state=OfferState.ACCEPTED).select_related("other")
    events = [(team.created_at, "The team was created.")]
    events += [
        (membership.joined_at, f"{membership.user} joined.") for membership in team.memberships.select_related("user")
    ]
    events += [
        (merge.answered_at, f"The team “{merge.other}” became part of it.") for merge in merges if merge.answered_at
    ]
    if team.disqualified_at is not None:
        events.append((team.disqualified_at, f"Disqualified: {team.disqualified_reason}"))
    if team.reinstated_at is not None:
        events.append((team.reinstated_at, f"Reinstated: {team.reinstated_reason}"))
    return sorted(events, reverse=True)


def act_on_teams(teams: QuerySet[Team], action: str, *, reason: str, now: datetime) -> int:
    """Disqualify or reinstate each; returns how many were not so before. Raises `REASON_MISSING`."""
    if not reason.strip():
        raise REASON_MISSING()
    act = team_disqualify if action == "disqualify" else team_reinstate
    return sum(act(team=team, reason=reason.strip(), now=now) for team in teams)


def team_lines(teams: QuerySet[Any], best: BestColumn | None) -> Iterator[str]:
    """Teams as CSV, with the best score where this person may see it."""
    writer: Any = csv.writer(Echo())
    yield writer.writerow(
        ["team", "state", "members", "emails", "submissions", "last_submission", *([best.column.key] if best else [])]
    )
    for team in teams.iterator(chunk_size=CHUNK):
        users = [membership.user for membership in team.memberships.all()]
        cells = [
            team.name,
            team_state(team),
            " ".join(user.username for user in users),
            " ".join(u.email for u in users),
        ]
        last = team.last_at.isoformat() if team.last_at else ""
        score = [best_score(team, best)] if best else []
        yield writer.writerow([*(safe_cell(cell) for cell in cells), team.submission_count, last, *score])


def team_state(team: Team) -> str:
    """One word for a table."""
    return "disqualified" if team.disqualified_at else "baseline" if team.is_baseline else "active"
