"""The conduct of a competition: answers to those who review its proposal, made from its settings."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from competitions.catalog.models import Agents, Competition, Leaderboard, Phase
from competitions.disclosure.readers import Reader
from competitions.disclosure.scores import may_know_board, scores_are_public
from competitions.leaderboards.ranking.values import primary_column
from competitions.web.templatetags.podium import duration, size

NOT_SAID: Final = "The organizers have said nothing on this."


@dataclass(frozen=True)
class Statement:
    """One question of a reviewer, and the answers."""

    question: str
    answers: list[str]


@dataclass(frozen=True)
class Conduct:
    """A competition as its reader may know it: phases with the boards of which this person may know."""

    competition: Competition
    phases: list[tuple[Phase, list[Leaderboard]]]


def conduct(competition: Competition, phases: list[Phase], reader: Reader) -> list[Statement]:
    """Questions and answers, those that do not arise left out. `phases`: with boards and columns."""
    known = [
        (phase, [board for board in phase.leaderboards.all() if may_know_board(reader, board)]) for phase in phases
    ]
    subject = Conduct(competition, known)
    statements = [Statement(question, list(answers(subject))) for question, answers in QUESTIONS]
    return [statement for statement in statements if statement.answers]


def _at(at: datetime | None, otherwise: str) -> str:
    return f"{at:%Y-%m-%d %H:%M} UTC" if at else otherwise


def _grouped(texts: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Each text once, behind the names of all phases or boards that it is true of."""
    names: dict[str, list[str]] = {}
    for name, text in texts:
        names.setdefault(text, []).append(name)
    return (f"{', '.join(named)}: {text}" for text, named in names.items() if text)


def _by_phase(subject: Conduct, text: Callable[[Phase], str]) -> Iterator[str]:
    """A text on each phase that has one."""
    return _grouped((phase.name, text(phase)) for phase, _ in subject.phases)


def _by_board(subject: Conduct, text: Callable[[Phase, Leaderboard], str]) -> Iterator[str]:
    """A text on each board that has one."""
    return _grouped(
        (phase.name if board.title == "Leaderboard" else f"{phase.name}, {board.title}", text(phase, board))
        for phase, boards in subject.phases
        for board in boards
    )


def _dates(phase: Phase) -> str:
    late = " What comes later is scored and never ranked." if phase.accepts_late else ""
    return f"from {_at(phase.opens_at, '')} until {_at(phase.closes_at, 'further notice')}.{late}"


def _entry(subject: Conduct) -> Iterator[str]:
    competition = subject.competition
    is_open = competition.registration_policy == Competition.RegistrationPolicy.OPEN
    yield (
        "Whoever accepts the rules takes part." if is_open else "An organizer decides on each registration."
    ) + f" A team has at most {competition.max_team_size} people; a person is in one team."
    yield from _by_phase(subject, _entrants)
    if competition.merges_close_at:
        yield f"Teams merge until {_at(competition.merges_close_at, '')}."


def _entrants(phase: Phase) -> str:
    return "" if phase.agents == Agents.ANY else f"takes submissions from {phase.get_agents_display()}."


def _hidden(subject: Conduct) -> Iterator[str]:
    yield "Hidden labels are mounted into the scoring container alone; no program of a team ever runs there."
    yield from _by_board(subject, _visibility)


def _visibility(phase: Phase, board: Leaderboard) -> str:
    if board.is_hidden:
        return "organizers alone see it."
    if scores_are_public(board):
        when = f" since the reveal of {_at(phase.revealed_at, '')}" if board.was_revealed else " as they come"
        return f"everybody sees scores{when}."
    planned = f", planned for {phase.reveal_at:%Y-%m-%d %H:%M} UTC" if phase.reveal_at else ""
    return (
        f"scores are sealed until the reveal{planned}. Until then they appear on no page and in no file, mail or log, and no order of rows "
        "shows them. Organizers need a special right to see them, and each use of it is recorded. At the close a digest of all scores is "
        "published, by which anybody can check what is revealed."
    )


def _quotas(subject: Conduct) -> Iterator[str]:
    yield from _by_phase(subject, _limits)
    yield "What fails because of an error of the platform or the organizers' programs counts towards no quota."


def _limits(phase: Phase) -> str:
    limits = {
        "a day": phase.max_submissions_per_day,
        "a week": phase.max_submissions_per_week,
        "in all": phase.max_submissions,
    }
    given = [f"{limit} {when}" for when, limit in limits.items() if limit is not None]
    return f"{', '.join(given)}." if given else "any number of submissions."


def _order(phase: Phase, board: Leaderboard) -> str:
    primary = primary_column(list(board.columns.all()))
    by = f"by {primary.title} ({primary.get_sorting_display()})" if primary and not primary.is_hidden else "by a column"
    ties = "Equal scores share a rank."
    if board.breaks_ties:
        ties = "Equal scores are told apart by the other columns, then by the time of submission."
    entrants = {"agents": "for agents alone; ", "people": "for people alone; "}.get(board.entrants, "")
    return f"{entrants}ranked {by}; {board.get_rule_display()}. {ties}"


def _uncertainty(phase: Phase, board: Leaderboard) -> str:
    if not board.shows_uncertainty:
        return ""
    return (
        f"where the scoring program gives replicates, scores have intervals of {board.confidence_percent} %, rows have ranges "
        "of ranks, and rows that the test set cannot tell apart share a tier (Holm's correction)."
    )


def _budget(phase: Phase) -> str:
    if not phase.accepts_code:
        return ""
    gpus, cores = "one GPU" if phase.gpus else "no GPU", "core" if phase.cpus == 1 else "cores"
    return (
        f"a program has {duration(phase.time_limit_s)} of wall time, {gpus}, {phase.cpus:g} CPU {cores} and {size(phase.memory_bytes)} of "
        "memory, from its start to its predictions. Measured times and the hardware stand in each receipt."
    )


def _isolation(subject: Conduct) -> Iterator[str]:
    yield from _by_phase(subject, _container)
    if subject.competition.queue.separate_scoring:
        yield "Scoring runs on machines of its own, which never run code of teams."


def _container(phase: Phase) -> str:
    if not phase.accepts_code:
        return ""
    network = "reaches the network" if phase.allow_network else "has no network"
    place = "a container of its own in gVisor" if phase.is_sandboxed else "a container of its own"
    return f"code of teams runs in {place}, which {network}, under limits of memory, processes and output."


def _published(subject: Conduct) -> Iterator[str]:
    competition = subject.competition
    if competition.make_programs_available:
        yield "Ingestion and scoring programs can be downloaded."
    if competition.make_input_data_available:
        yield "Input data can be downloaded, from the opening of its phase on."
    yield (
        "Each score has a receipt with digests of submission, programs, data and image, limits and hardware. Changes to the scoring are "
        "tried on all submissions first, applied to all at once, and published with their reason."
    )


def _interests(subject: Conduct) -> Iterator[str]:
    yield subject.competition.conflicts_of_interest or NOT_SAID


def _licence(subject: Conduct) -> Iterator[str]:
    yield subject.competition.data_licence or NOT_SAID


QUESTIONS: Final[tuple[tuple[str, Callable[[Conduct], Iterator[str]]], ...]] = (
    ("When can teams submit?", lambda subject: _by_phase(subject, _dates)),
    ("Who takes part?", _entry),
    ("What is hidden, from whom, and until when?", _hidden),
    ("How often may a team submit?", _quotas),
    ("How are teams ranked, and what about ties?", lambda subject: _by_board(subject, _order)),
    ("How sure are the ranks?", lambda subject: _by_board(subject, _uncertainty)),
    ("Which hardware and budget do programs have?", lambda subject: _by_phase(subject, _budget)),
    ("How is code isolated?", _isolation),
    ("What is published?", _published),
    ("Are there conflicts of interest?", _interests),
    ("Under which licence are the data?", _licence),
)


_IN_TEX: Final = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "%": r"\%", "&": r"\&", "#": r"\#", "$": r"\$", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
}  # fmt: skip


def tex(text: str) -> str:
    r"""The text with everything escaped that means something in LaTeX.

    >>> tex("50 % of $x_1$")
    '50 \\% of \\$x\\_1\\$'
    """
    return "".join(_IN_TEX.get(letter, letter) for letter in text)


def as_latex(competition: Competition, statements: list[Statement], url: str) -> str:
    """The statements as a section of LaTeX, for a proposal or a report."""
    lines = [rf"\section*{{How {tex(competition.title)} is run}}", rf"\url{{{url}}}", ""]
    for statement in statements:
        lines += [rf"\paragraph{{{tex(statement.question)}}}"]
        lines += [tex(answer) + "\n" for answer in statement.answers]
    return "\n".join(lines)
