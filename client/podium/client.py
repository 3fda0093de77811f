"""A person's or a program's view of one site: competitions, teams, submissions, boards."""

import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from podium.errors import InvalidInput, Refused, StillWaiting, SubmissionFailed
from podium.models import (
    Account,
    Allowance,
    Board,
    Competition,
    DownloadFile,
    EnvironmentFile,
    EnvironmentKind,
    FactQuestion,
    Invitation,
    Kind,
    Log,
    Notification,
    Phase,
    Registration,
    Submission,
    Team,
)
from podium.profiles import sign_in_chosen
from podium.site import Site, read_answer
from podium.transfers import Progress, download, quiet
from podium.uploads import uploaded

POLL_S: Final = (1.0, 15.0)  # from, to: the longer it takes, the rarer it is asked
PAGE_SIZE: Final = 100
BOARD_TRIES: Final = 5  # a board may change while its pages are read


class Client:
    """Signed in as whoever the token belongs to.

    Without arguments: the site and token of the environment (`PODIUM_SITE`, `PODIUM_TOKEN`), else of the last `podium login`.
    `PODIUM_TOKEN` also comes before the token of a `profile`, unless `PODIUM_SITE` says that it is for another site.
    Every method raises a `PodiumError`: `InvalidInput`, `NotAllowed`, `Refused` or `SiteUnreachable`.
    """

    def __init__(self, site: str = "", token: str = "", *, profile: str = "", patience_s: float = 120.0) -> None:
        self.sign_in = sign_in_chosen(profile, site=site, token=token)
        self.site = Site(self.sign_in.site, self.sign_in.token, patience_s=patience_s)

    def account(self) -> Account:
        """The account that the token belongs to, and what the token may do."""
        return Account.model_validate(self.site.get("me/"))

    # --- competitions and teams

    def competitions(self) -> Iterator[Competition]:
        """The competitions that you can see, newest first."""
        return (Competition.model_validate(competition) for competition in self._pages("competitions/"))

    def competition(self, slug: str) -> Competition:
        """One, with its phases."""
        return Competition.model_validate(self.site.get(f"competitions/{slug}/"))

    def join(self, slug: str, *, rules_version: int, answers: Mapping[str, object] | None = None) -> Registration:
        """Register, accepting this version of the rules; `answers` by the questions' keys."""
        body = {"rules_version": rules_version, "answers": dict(answers or {})}
        return Registration.model_validate(self.site.post(f"competitions/{slug}/registration/", body))

    def team(self, slug: str) -> Team:
        """Your team in a competition."""
        return Team.model_validate(self.site.get(f"competitions/{slug}/team/"))

    def team_create(self, slug: str, name: str) -> Team:
        """Make a team, as its captain."""
        return Team.model_validate(self.site.post(f"competitions/{slug}/team/", {"name": name}))

    def team_leave(self, slug: str) -> None:
        """Leave your team."""
        self.site.call("DELETE", f"competitions/{slug}/team/", is_repeatable=False)

    def invite(self, slug: str, person: str) -> Invitation:
        """Invite somebody to your team, by user name or address."""
        return Invitation.model_validate(self.site.post(f"competitions/{slug}/team/invitations/", {"person": person}))

    def invitations(self) -> list[Invitation]:
        """The invitations that wait for your answer."""
        return [Invitation.model_validate(invitation) for invitation in self.site.get("invitations/")]

    def invitation_answer(self, key: str, *, accept: bool) -> Invitation:
        """Accept or decline an invitation."""
        answer = "accept" if accept else "decline"
        return Invitation.model_validate(self.site.post(f"invitations/{key}/{answer}/"))

    def notifications(self, *, unread: bool = False) -> Iterator[Notification]:
        """Your notifications, newest first; with `unread` only those that you have not read."""
        notifications = self._pages("notifications/", unread="true" if unread else None)
        return (Notification.model_validate(notification) for notification in notifications)

    def notifications_read(self, up_to: int) -> None:
        """Mark a notification as read, and all that came before it."""
        self.site.post("notifications/read/", {"up_to": up_to})

    def files(self, slug: str) -> list[DownloadFile]:
        """The files that participants may download.

        Files that share a name are put into folders of their own, as `PHASE/NAME/`.
        """
        files = [DownloadFile.model_validate(file) for file in self.site.get(f"competitions/{slug}/files/")]
        names = Counter(file.file_name.casefold() for file in files)
        names.update({file.phase.casefold() for file in files})  # a file cannot lie where such a folder may be
        return [
            file.model_copy(update={"folder": f"{file.phase}/{file.name}"})
            if names[file.file_name.casefold()] > 1
            else file
            for file in files
        ]

    def download(self, file: DownloadFile, folder: str | Path = ".", *, progress: Progress = quiet) -> Path:
        """Fetch a file; see `podium.transfers.download`."""
        return download(self.site, file, Path(folder), progress)

    def limits(self, slug: str, phase: str = "") -> list[Allowance]:
        """The number of submissions that your team has left, by period."""
        chosen = self.phase(slug, phase)
        return [
            Allowance.model_validate(allowance)
            for allowance in self.site.get(f"competitions/{slug}/phases/{chosen.slug}/limits/")
        ]

    def phase(self, slug: str, phase: str = "", *, file_name: str = "") -> Phase:
        """The phase of that slug. Raises `InvalidInput`.

        Without one: the phase whose predictions are called `file_name`, else the only phase, else the only open one.
        """
        phases = self.competition(slug).phases
        if phase:
            matches = [candidate for candidate in phases if candidate.slug == phase]
        elif len(phases) == 1:
            matches = phases
        else:
            of_file = [candidate for candidate in phases if file_name and candidate.official_file_name == file_name]
            matches = [candidate for candidate in of_file or phases if candidate.is_open] or of_file
        if len(matches) == 1:
            return matches[0]
        listed = ", ".join(f"{candidate.slug}{'' if candidate.is_open else ' (not open)'}" for candidate in phases)
        what = f"has no phase {phase!r}" if phase else f"has {len(matches)} open phases"
        raise InvalidInput(f"{slug} {what}; name one of: {listed or 'none'}.", code="which_phase")

    def fact_sheet(self, slug: str, phase: str = "") -> list[FactQuestion]:
        """The questions that are answered with a submission to the phase."""
        chosen = self.phase(slug, phase)
        questions = self.site.get(f"competitions/{slug}/phases/{chosen.slug}/fact-sheet/")
        return [FactQuestion.model_validate(question) for question in questions]

    # --- submissions

    def submit(
        self,
        slug: str,
        path: str | Path,
        *,
        phase: str = "",
        kind: Kind | None = None,
        smoke: bool = False,
        message: str = "",
        tags: Iterable[str] = (),
        commit: str = "",
        link: str = "",
        fact_sheet: Mapping[str, Any] | None = None,
        weights: str = "",
        image: str = "",
        progress: Progress = quiet,
    ) -> Submission:
        """Send a file in. Without a `kind`, the site says which of those that the phase accepts it looks like.

        Without a `phase`, it is the one whose predictions have the file's name, else the only open one. What the fact sheet
        requires is looked at before anything is sent.

        `smoke`: code, on the phase's public mini split alone, which is free. `weights` and `image` are the code's environment:
        `name@version` of your team's, or for an image `registry/repository@sha256:…`.

        `tags` are words of your team's own. `commit` and `link`, to code or a paper, are public where the submission stands on a board.

        The site makes one submission of the call, however often the connection breaks. Where the program is broken off, the next call
        with the same file sends what is left of it.
        """
        file = Path(path)
        if not file.is_file():
            raise InvalidInput(
                f"There is no file {str(path)!r}." + (" Pack the folder into a zip." if file.is_dir() else ""),
                code="no_file",
            )
        chosen = self.phase(slug, phase, file_name=file.name)
        if not smoke:
            require_answers(self.fact_sheet(slug, chosen.slug), fact_sheet or {})
        body = {
            "phase": chosen.id,
            **({"kind": named} if (named := kind or ("code" if smoke else None)) else {}),
            "smoke": smoke,
            "description": message,
            "tags": list(tags),
            "commit": commit,
            "link": link,
            "fact_sheet": dict(fact_sheet or {}),
            "weights": weights,
            "image": image,
        }
        with uploaded(self.site, file, progress) as key:
            return self._submission(self.site.post("submissions/", body | {"upload": key}, key=uuid.uuid4().hex))

    # --- weights and images

    def environment_files(self, slug: str, kind: EnvironmentKind) -> list[EnvironmentFile]:
        """Your team's weights, or its images."""
        return [EnvironmentFile.model_validate(file) for file in self.site.get(_environment_path(slug, kind))]

    def environment_file(self, key: str) -> EnvironmentFile:
        """One of them, as its check stands now."""
        return EnvironmentFile.model_validate(self.site.get(f"environment-files/{key}/"))

    def environment_file_upload(
        self, slug: str, kind: EnvironmentKind, path: str | Path, *, name: str, progress: Progress = quiet
    ) -> EnvironmentFile:
        """Send a file as the next version of a name. The site checks it: see `environment_file_wait`."""
        file = Path(path)
        if not file.is_file():
            raise InvalidInput(f"There is no file {str(path)!r}.", code="no_file")
        with uploaded(self.site, file, progress, is_environment=True) as key:
            answer = self.site.post(_environment_path(slug, kind), {"name": name, "upload": key})
        return EnvironmentFile.model_validate(answer)

    def environment_file_wait(self, file: EnvironmentFile) -> EnvironmentFile:
        """Ask until the check has ended."""
        pause_s = POLL_S[0]
        while file.state == "checking":
            time.sleep(pause_s)
            pause_s = min(POLL_S[1], pause_s * 1.3)
            file = self.environment_file(file.key)
        return file

    def environment_file_delete(self, key: str) -> None:
        """Remove a file; its name and digest stay on record."""
        self.site.call("DELETE", f"environment-files/{key}/", is_repeatable=False)

    def submissions(self, slug: str = "", *, phase: str = "", status: str = "", tag: str = "") -> Iterator[Submission]:
        """Your teams' submissions, and all of the competitions that you organize; newest first.

        With a `tag`: those of your teams that have it.
        """
        number = self.phase(slug, phase).id if phase else None
        submissions = self._pages(
            "submissions/", competition=slug or None, phase=number, status=status or None, tag=tag or None
        )
        return (self._submission(submission) for submission in submissions)

    def submission(self, number: int) -> Submission:
        """One submission, as it is now."""
        return self._submission(self.site.get(f"submissions/{number}/"))

    def wait(
        self,
        number: int,
        *,
        timeout_s: float | None = None,
        on_change: Callable[[Submission], None] | None = None,
        check: bool = True,
    ) -> Submission:
        """Wait until the submission has ended; `on_change` gets each change of status or place.

        Raises `StillWaiting` after `timeout_s`, and with `check` `SubmissionFailed` for one that ended without a score.
        """
        began_at = time.monotonic()
        pause_s, before = POLL_S[0], None
        while True:
            submission = self.submission(number)
            now = (submission.status, *(run.queue_place for run in submission.runs))
            if on_change and now != before:
                on_change(submission)
            if submission.is_final:
                if check and submission.status != "finished":
                    raise SubmissionFailed(submission)
                return submission
            if timeout_s is not None and time.monotonic() - began_at + pause_s > timeout_s:
                raise StillWaiting(submission, timeout_s)
            pause_s = POLL_S[0] if now != before else min(POLL_S[1], pause_s * 1.3)
            before = now
            time.sleep(pause_s)

    def annotate(
        self, number: int, *, tags: Iterable[str] | None = None, commit: str | None = None, link: str | None = None
    ) -> Submission:
        """Change the tags, the commit or the link of a submission of your team; None leaves one as it is."""
        given = {"tags": None if tags is None else list(tags), "commit": commit, "link": link}
        body = {name: value for name, value in given.items() if value is not None}
        return self._submission(read_answer(self.site.call("PATCH", f"submissions/{number}/", json=body)))

    def cancel(self, number: int) -> Submission:
        """Cancel it: at once while it waits, within seconds while it runs."""
        return self._submission(self.site.post(f"submissions/{number}/cancel/"))

    def select(self, number: int, *, board: str = "", selected: bool = True) -> Submission:
        """Choose it for a board where teams choose (by default its phase's main one), or take the choice back."""
        if not board:
            known = self.submission(number)
            board = self.leaderboard(known.competition, phase=known.phase, limit=1).board
        answer = self.site.call("PUT" if selected else "DELETE", f"submissions/{number}/boards/{board}/")
        return self._submission(read_answer(answer))

    def logs(self, number: int, *, printed: Mapping[tuple[str, str], int] | None = None) -> list[Log]:
        """The output of its programs, as far as you may see it.

        `printed`: characters that you have, by run and stream; then only what follows comes, where the site can do so.
        """
        parts = [f"{run}:{stream}:{chars}" for (run, stream), chars in (printed or {}).items()]
        return [Log.model_validate(log) for log in self.site.get(f"submissions/{number}/logs/", printed=parts or None)]

    def receipt(self, number: int) -> dict[str, Any]:
        """The facts to run it again: digests, image, limits, hardware, times."""
        receipt: dict[str, Any] = self.site.get(f"submissions/{number}/receipt/")
        return receipt

    # --- boards

    def leaderboard(self, slug: str, *, phase: str = "", board: str = "", limit: int | None = None) -> Board:
        """A board with its first `limit` rows; without a limit with all."""
        path = f"competitions/{slug}/phases/{self.phase(slug, phase).slug}/leaderboard/"
        for tries_left in reversed(range(BOARD_TRIES)):
            try:
                return self._whole_board(path, board, limit)
            except Refused as refusal:
                if refusal.code != "board_changed" or not tries_left:
                    raise
        raise AssertionError("the last try returns or raises")

    def _whole_board(self, path: str, board: str, limit: int | None) -> Board:
        """The pages of a board in one.

        Raises `Refused` with `board_changed` where the row between two of them moved.
        """
        rows: list[Any] = []
        cursor: str | None = None
        while True:
            page = self.site.get(path, board=board or None, cursor=cursor)
            rows, cursor = rows + page["rows"], page["next_cursor"]
            if cursor is None or (limit is not None and len(rows) >= limit):
                return Board.model_validate(page | {"rows": rows[:limit]})

    def leaderboard_csv(self, slug: str, *, phase: str = "", board: str = "") -> str:
        """A board as the site writes it for spreadsheets."""
        path = f"competitions/{slug}/phases/{self.phase(slug, phase).slug}/leaderboard.csv"
        return self.site.call("GET", path, params={"board": board} if board else {}).text

    def _submission(self, answer: Any) -> Submission:
        submission = Submission.model_validate(answer)
        submission._client = self
        return submission

    def _pages(self, path: str, **params: Any) -> Iterator[Any]:
        page = self.site.get(path, page_size=PAGE_SIZE, **params)
        while True:
            yield from page["results"]
            if page["next"] is None:
                return
            page = self.site.get(page["next"])


def require_answers(questions: Iterable[FactQuestion], answers: Mapping[str, Any]) -> None:
    """Raise `InvalidInput` where an answer is missing that a fact sheet requires."""
    missing = [question for question in questions if question.is_required and answers.get(question.key) in (None, "")]
    if missing:
        listed = "; ".join(f"{question.key}: {question.title}" for question in missing)
        raise InvalidInput(
            f"The fact sheet of this phase needs answers, and these are missing: {listed}. Give each with --answer KEY=VALUE, or all in a "
            "file with --fact-sheet.",
            code="fact_sheet_incomplete",
            extra={"missing": [question.key for question in missing]},
        )


def _environment_path(slug: str, kind: EnvironmentKind) -> str:
    return f"competitions/{slug}/{'weights' if kind == 'weights' else 'images'}/"
