"""Submitting, and following what becomes of it."""

import time
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer
import yaml

from podium.client import Client
from podium.commands.options import AsJson, Number, PhaseName, Profile, Slug, client, read_pairs
from podium.commands.watching import new_logs, watched
from podium.errors import InvalidInput
from podium.files import packed
from podium.models import Kind, Submission
from podium.output import describe, say, transfer_bar, write_json, write_list, write_result, write_table, write_text

app = typer.Typer()
POLL_S = 2.0


def show(submission: Submission, *, as_json: bool) -> None:
    """Print it; the exit status says how it ended."""
    if as_json:
        write_json(submission)
    else:
        write_text(describe(submission))
        if submission.scores:
            write_table(["column", "score"], list(submission.scores.items()))
        for run in submission.runs:
            if run.smoke_scores:
                write_table(["column", "score on the mini split"], list(run.smoke_scores.items()))
        if submission.verdict:
            write_text(f"{submission.verdict.detail or submission.verdict.reason}\n{submission.verdict.advice}")
    if submission.status in ("failed", "cancelled"):
        raise typer.Exit(1)


@app.command()
def submit(
    slug: Slug,
    file: Annotated[
        Path, typer.Argument(help="A file of predictions, or a zip with code, or a folder to make one of.")
    ],
    message: Annotated[str, typer.Option("--message", "-m", help="A note for your team.")] = "",
    phase: PhaseName = "",
    kind: Annotated[Kind | None, typer.Option(help="Where the phase accepts several.")] = None,
    smoke: Annotated[
        bool, typer.Option("--smoke", help="Run code on the phase's public mini split alone: free, with its whole log.")
    ] = False,
    tag: Annotated[list[str], typer.Option(help="A word of your team's own to find it by; give several.")] = [],  # noqa: B006  # typer reads it
    commit: Annotated[str, typer.Option(help="The hash of your code's commit.")] = "",
    link: Annotated[str, typer.Option(help="Your code or paper, an address that begins with https://.")] = "",
    weights: Annotated[str, typer.Option(help="Your team's weights for the code, as name@version.")] = "",
    image: Annotated[str, typer.Option(help="The code's image: name@version, or registry/repository@sha256:…")] = "",
    answer: Annotated[list[str], typer.Option(help="KEY=VALUE for a question of the phase's fact sheet.")] = [],  # noqa: B006  # typer reads it
    fact_sheet: Annotated[
        Path | None, typer.Option(help="A file of JSON or YAML with the answers of the fact sheet by key.")
    ] = None,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until it has been scored.")] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Wait, and show the live log and the use of the budget meanwhile.")
    ] = False,
    profile: Profile = "",
    as_json: AsJson = False,
) -> None:
    """Send a file in. The first line is the submission's number."""
    me = client(profile)
    answers = {**read_answers(fact_sheet), **read_pairs(answer)}
    with TemporaryDirectory() as scratch, transfer_bar(file.name) as progress:
        file = packed(file, Path(scratch))
        submission = me.submit(
            slug,
            file,
            phase=phase,
            kind=kind,
            smoke=smoke,
            message=message,
            tags=tag,
            commit=commit,
            link=link,
            fact_sheet=answers,
            weights=weights,
            image=image,
            progress=progress,
        )
    if as_json and not (wait or watch):
        write_json(submission)
    elif not as_json:
        print(submission.id, flush=True)
        if not phase:
            say(f"Sent to the phase {submission.phase}, as {submission.kind}.")
    if watch:
        show(watched(me, submission.id), as_json=as_json)
    elif wait:
        ended = submission.wait(on_change=lambda now: say(describe(now)), check=False)
        if not as_json:
            _say_smoke_log(me, ended)
        show(ended, as_json=as_json)


def read_answers(path: Path | None) -> dict[str, object]:
    """The answers in a file. Raises `InvalidInput`."""
    if path is None:
        return {}
    try:
        answers = yaml.safe_load(path.read_text("utf-8-sig"))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise InvalidInput(f"{path} cannot be read as JSON or YAML: {error}", code="fact_sheet_unreadable") from error
    if not isinstance(answers, dict):
        raise InvalidInput(
            f"{path} holds no answers by key, as in `code_url: https://…`.", code="fact_sheet_unreadable"
        )
    plain = {str(key): value for key, value in answers.items() if value is not None}
    return {key: value if isinstance(value, bool | int | float) else str(value) for key, value in plain.items()}


def _say_smoke_log(me: Client, submission: Submission) -> None:
    """Print the whole log of a smoke run, where the submission came no further."""
    last = [run.id for run in submission.runs if run.is_smoke and len(submission.runs) == 1]
    for log in me.logs(submission.id) if last else ():
        if log.run in last and log.text:
            say(f"--- {log.stream}\n{log.text.rstrip()}")


@app.command()
def submissions(
    slug: Slug,
    phase: PhaseName = "",
    status: Annotated[str, typer.Option(help="Those of this status alone, such as `failed`.")] = "",
    tag: Annotated[str, typer.Option(help="Those of your team with this tag alone.")] = "",
    limit: Annotated[int, typer.Option(min=1, help="Maximum number to list, newest first.")] = 50,
    profile: Profile = "",
    as_json: AsJson = False,
) -> None:
    """List your team's submissions."""
    write_list(
        list(islice(client(profile).submissions(slug, phase=phase, status=status, tag=tag), limit)),
        ["id", "status", "scores", "phase", "sent (UTC)", "file", "note"],
        lambda each: (
            each.id,
            each.status,
            _scores(each),
            each.phase,
            each.created_at,
            each.file_name,
            each.description,
        ),
        as_json=as_json,
    )


def _scores(submission: Submission) -> str:
    return ", ".join(f"{key} {value}" for key, value in (submission.scores or {}).items())


@app.command()
def status(
    number: Number,
    wait: Annotated[bool, typer.Option("--wait", help="Wait until it has ended.")] = False,
    profile: Profile = "",
    as_json: AsJson = False,
) -> None:
    """Show a submission: how far it is, its scores, or why it failed. Exit status 1 where it failed."""
    me = client(profile)
    submission = me.submission(number)
    if wait:
        submission = submission.wait(on_change=lambda now: say(describe(now)), check=False)
    show(submission, as_json=as_json)


@app.command()
def watch(number: Number, profile: Profile = "", as_json: AsJson = False) -> None:
    """Show a submission's live log and the use of its budget until it ends. Exit status 1 where it failed."""
    show(watched(client(profile), number), as_json=as_json)


@app.command()
def logs(
    number: Number,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until it has ended.")] = False,
    profile: Profile = "",
    as_json: AsJson = False,
) -> None:
    """Print what a submission's programs have printed."""
    me = client(profile)
    printed: dict[tuple[str, str], int] = {}
    while True:
        # Asked first, so that nothing printed before the end is missed.
        is_over = not follow or me.submission(number).is_final
        if not as_json:
            for log, is_anew in new_logs(me, number, printed, is_over=is_over):
                if is_anew:
                    say(f"--- {log.stream}: a new attempt")
                write_text(log.text, end="")
        elif is_over:
            write_json(me.logs(number))
        if is_over:
            return
        time.sleep(POLL_S)


@app.command()
def annotate(
    number: Number,
    tag: Annotated[list[str] | None, typer.Option(help="All its tags from now on; give several.")] = None,
    no_tags: Annotated[bool, typer.Option("--no-tags", help="Remove its tags.")] = False,
    commit: Annotated[str | None, typer.Option(help="The hash of your code's commit; empty removes it.")] = None,
    link: Annotated[str | None, typer.Option(help="Your code or paper, from https:// on; empty removes it.")] = None,
    profile: Profile = "",
    as_json: AsJson = False,
) -> None:
    """Change tags, commit and link of a submission; what is not given stays."""
    if (tag, commit, link) == (None, None, None) and not no_tags:
        raise InvalidInput("Say what to change: --tag, --no-tags, --commit or --link.", code="nothing_to_change")
    tags = [] if no_tags else tag
    submission = client(profile).annotate(number, tags=tags, commit=commit, link=link)
    shown = [f"tags {' '.join(submission.tags) or 'none'}", f"commit {submission.commit or 'none'}"]
    write_result(submission, f"{number}: {', '.join(shown)}, link {submission.link or 'none'}.", as_json=as_json)


@app.command()
def cancel(number: Number, profile: Profile = "", as_json: AsJson = False) -> None:
    """Cancel a submission that waits or runs."""
    submission = client(profile).cancel(number)
    write_result(submission, describe(submission), as_json=as_json)


@app.command()
def select(
    number: Number,
    board: Annotated[str, typer.Option(help="Key of the board; its phase's main one if not given.")] = "",
    undo: Annotated[bool, typer.Option(help="Take the choice back.")] = False,
    profile: Profile = "",
    as_json: AsJson = False,
) -> None:
    """Choose a submission for a board where teams choose what counts."""
    chosen = client(profile).select(number, board=board, selected=not undo)
    write_result(chosen, f"{chosen.id} is chosen for: {', '.join(chosen.selected_on) or 'no board'}.", as_json=as_json)
