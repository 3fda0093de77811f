"""The organizer's list of submissions: filters in the address, rows, and actions on selected ones."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Final

from django import forms
from django.db.models import Q, QuerySet
from django.http import QueryDict

from accounts.models import User
from competitions.catalog.models import Column, Competition, Phase
from competitions.compute.models import Queue
from competitions.disclosure.readers import Reader
from competitions.leaderboards.reading.results import known_results, load_boards, with_scores
from competitions.organize.forms import ListForm
from competitions.organize.refusals import QUEUE_MISSING, REASON_MISSING
from competitions.runs.models import Run
from competitions.runs.services import runs_move_to_queue, submission_cancel, submission_rerun, submission_start
from competitions.submissions.models import Submission
from competitions.submissions.services import submission_disqualify, submission_reinstate
from competitions.submissions.states import Reason, State
from competitions.teams.models import Team
from competitions.web.forms import offer
from core.refusals import Refusal

MOST_TEAMS: Final = 200  # that a search by name may mean

ASKS_FIRST: Final = ("rerun", "cancel", "move")
ACTIONS: Final[Mapping[str, tuple[str, str]]] = {
    "rerun": ("Run again", "queued again"),
    "cancel": ("Cancel", "cancelled"),
    "move": ("Move what waits to another queue", "moved: what runs stays where it is"),
    "disqualify": ("Disqualify", "disqualified"),
    "reinstate": ("Undo a disqualification", "reinstated"),
    "start": ("Start", "started"),
}


STANDINGS: Final[Mapping[str, tuple[str, Q]]] = {
    "late": ("Late", Q(is_late=True)),
    "disqualified": ("Disqualified", Q(disqualified_at__isnull=False)),
    "free": ("Counted towards no quota", Q(is_charged=False)),
}


class FilterForm(ListForm):
    """Filters of the list of submissions."""

    phase = forms.ModelChoiceField(Phase.objects.none(), required=False, empty_label="All phases")
    state = forms.ChoiceField(choices=[("", "All states"), *State.choices], required=False)
    reason = forms.ChoiceField(label="Failed because", choices=[("", "Any reason"), *Reason.choices], required=False)
    standing = forms.ChoiceField(
        choices=[("", "Any standing"), *((name, words) for name, (words, _) in STANDINGS.items())], required=False
    )
    team = forms.CharField(label="Team or file", required=False, max_length=60)

    def __init__(self, competition: Competition, data: QueryDict) -> None:
        super().__init__(data)
        self.competition = competition
        offer(self, "phase", competition.phases.all())

    def narrowed(self) -> QuerySet[Submission]:
        """The competition's submissions that the address asks for, newest first."""
        self.is_valid()
        values = self.cleaned_data
        phases = (
            [values["phase"].pk] if values.get("phase") else list(self.competition.phases.values_list("pk", flat=True))
        )
        rows = Submission.objects.filter(phase__in=phases, rescores=None)  # copies stand with their proposal
        if values.get("team"):
            teams = Team.objects.filter(competition=self.competition, name__icontains=values["team"])
            named = list(teams.values_list("pk", flat=True)[:MOST_TEAMS])
            rows = rows.filter(Q(team__in=named) | Q(file_name__icontains=values["team"]))
        if standing := values.get("standing"):
            rows = rows.filter(STANDINGS[standing][1])
        return self.filtered(rows, status="state", reason="reason")


@dataclass(frozen=True)
class OrganizersRow:
    """One submission as its organizer sees it: sealed scores are withheld as from everybody."""

    submission: Submission
    scores: list[tuple[Column, str]]
    withholds_scores: bool
    detail: str = ""  # the sentence with which it failed


def submission_rows(submissions: Sequence[Submission], reader: Reader) -> list[OrganizersRow]:
    """The rows of these submissions, in a few queries for any number of them."""
    load_boards(list({submission.phase_id: submission.phase for submission in submissions}.values()))
    phases = {submission.phase_id: submission.phase for submission in submissions}
    for submission in submissions:
        submission.phase = phases[submission.phase_id]
    results = [(scored.submission, known_results(scored, reader)) for scored in with_scores(submissions)]
    details = _failure_details([submission.pk for submission in submissions if submission.status == State.FAILED])
    return [
        OrganizersRow(submission, result.values, result.withholds_scores, details.get(submission.pk, ""))
        for submission, result in results
    ]


def _failure_details(failed: Sequence[int]) -> dict[int, str]:
    """The sentence with which each of these submissions failed, as its team reads it."""
    runs = Run.objects.filter(submission__in=failed, state=State.FAILED).exclude(detail="").order_by("-pk")
    return dict(runs.values_list("submission", "detail")) if failed else {}


def queues_for(user: User, competition: Competition) -> QuerySet[Queue]:
    """The queues to which this organizer may move the competition's runs: those they may use, and its own."""
    return Queue.objects.usable_by(user) | Queue.objects.filter(pk=competition.queue_id)


def act_on(
    chosen: QuerySet[Submission], action: str, *, reason: str, queue: Queue | None, by: User, now: datetime
) -> tuple[int, list[str]]:
    """Act on each; returns how many, and why not others. Raises `REASON_MISSING` or `QUEUE_MISSING`."""
    actor = f"organizer:{by.username}"  # as the history of runs names them
    if action in ("disqualify", "reinstate") and not reason.strip():
        raise REASON_MISSING()
    if action == "move":
        if queue is None:
            raise QUEUE_MISSING()
        move = partial(runs_move_to_queue, queue=queue, actor=actor, now=now)
        return sum(move(submission=submission) > 0 for submission in chosen), []
    acts: dict[str, Callable[..., object]] = {
        "start": partial(submission_start, by=by, now=now),
        "rerun": partial(submission_rerun, actor=actor, now=now),
        "cancel": partial(submission_cancel, actor=actor, now=now),
        "disqualify": partial(submission_disqualify, reason=reason.strip(), now=now),
        "reinstate": partial(submission_reinstate, reason=reason.strip(), now=now),
    }
    done, refused = 0, []
    for submission in chosen:
        try:
            done += acts[action](submission=submission) is not False
        except Refusal as refusal:
            refused.append(f"#{submission.pk}: {refusal.detail}")
    return done, refused
