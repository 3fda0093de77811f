"""No URL shows a known sealed score, or an order that follows from it, without the right."""

from __future__ import annotations

import json
import re
from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.auth import SESSION_KEY
from django.test import Client
from django.urls import reverse

from accounts.models import Scope, User
from competitions.catalog.models import Column, CompetitionOrganizer, Leaderboard, Phase, Proposal, ShowsSlices
from competitions.catalog.services import NOT_SEALED, StillOpen, phase_reveal
from competitions.disclosure.outputs import SLICES
from competitions.leaderboards.models import (
    BoardUncertainty,
    Commitment,
    Entry,
    EntryUncertainty,
    ProposedStanding,
    ScoreReplicates,
)
from competitions.leaderboards.rescoring.services import proposal_begin, proposal_put_file
from competitions.leaderboards.sealing import commit_closed_boards
from competitions.mcp.tools import TOOLS
from competitions.notifications.models import Notification
from competitions.resources.storage import store_bytes
from competitions.runs.leases import reports
from competitions.runs.models import Run, RunLog, RunOutput
from competitions.runs.rescoring import submission_rescore
from competitions.submissions.models import Submission
from competitions.web.views.markdown import MarkdownPage
from scoring.errors import CODES
from tests.answers import read_result
from tests.permissions import PAGES, PermissionSite, body_text, depends_on_seal, named_patterns, page_url
from tests.reading import is_known, names_read
from tests.refusals import refuses
from tests.scenario import Scenario, lease
from tests.shared_rows import shared
from tests.soak import mostly_in_soak
from tests.tools import called, secret_token

SECRET = 0.987654321
STAFF = "OXR"  # who is let into the admin
# A digest is hexadecimal, and one in some thousands has these digits in it by chance.
SHOWN = re.compile(r"0\.98765|0\.9877|(?<![0-9a-f])98765")


def named(permissions: PermissionSite, submission: Submission) -> PermissionSite:
    """The URLs now name this submission."""
    run = submission.runs.get()
    permissions.arguments |= {"pk": submission.pk, "run_id": run.pk, "phase_slug": submission.phase.slug}
    if (
        entry := Entry.objects.filter(score__submission=submission).order_by("pk").last()
    ):  # the sealed board's, where there are two
        permissions.arguments["entry"] = entry.pk
    return permissions


def with_outputs(submission: Submission) -> Submission:
    """With everything a run leaves."""
    run = submission.runs.get()
    RunLog.objects.create(run=run, attempt=1, stream="scoring", seq=0, text=f"mae={SECRET}")
    for name in ("scoring.zip", "detailed_results.html", "scoring-replicates.npz", "scoring-losses.npz"):
        RunOutput.objects.create(run=run, attempt=1, name=name, file=store_bytes(f"mae={SECRET} in {name}".encode()))
    Phase.objects.filter(pk=submission.phase_id).update(shows_slices=ShowsSlices.AT_ONCE)
    row = {"value": "all", "items": 98765, "score": SECRET, "low": SECRET, "high": SECRET}
    slices = {"format": 1, "scores": {key: {"of 0.98765": [row]} for key in ("mae", "private")}}
    RunOutput.objects.create(run=run, attempt=1, name=SLICES, file=store_bytes(json.dumps(slices).encode()))
    entries = Entry.objects.filter(score__submission=submission).select_related("leaderboard__phase")
    for entry in (entry for entry in entries if entry.leaderboard.is_sealed):
        EntryUncertainty.objects.create(
            entry=entry, low=SECRET, high=SECRET, first_rank=98765, last_rank=98765, tier=98765
        )
        BoardUncertainty.objects.create(
            leaderboard=entry.leaderboard,
            created_at=run.queued_at,
            rows_known=1,
            resolution=SECRET,
            remark=f"mae={SECRET}",
        )
        ScoreReplicates.objects.create(score=entry.score, stream="test", remark=f"mae={SECRET}")
        with_proposals(submission, entry.leaderboard)
    return submission


def with_proposals(submission: Submission, board: Leaderboard) -> None:
    """Proposals that are compared, and applied, on a sealed board; with a copy that was scored."""
    site, count = board.phase.competition, 98765
    standing = {"rank": count, "score": "0.9877", "tier": count}
    row = {"team": submission.team_id, "before": standing, "after": standing}
    counts = dict.fromkeys(("teams", "moved", "gain", "lose", "come", "gone", "other_tier"), count)
    facts = counts | {"first_before": [], "first_after": [submission.team_id], "has_tiers": True}
    is_first = not Proposal.objects.filter(state=Proposal.State.SCORING).exists()  # one is scored at a time
    for state in (Proposal.State.SCORING if is_first else Proposal.State.DROPPED, Proposal.State.APPLIED):
        begun = proposal_begin(
            competition=site, title="T", reason="R", by=site.organizers.earliest("pk"), now=submission.created_at
        )
        file, by = store_bytes(b"proposed"), begun.created_by
        task = submission.phase.tasks.get()
        proposal_put_file(proposal=begun, task=task, slot="scoring_program", file=file, file_name="s.zip", by=by)
        ended_at = submission.created_at if state == Proposal.State.APPLIED else None
        Proposal.objects.filter(pk=begun.pk).update(state=state, compared_count=1, ended_at=ended_at)
        ProposedStanding.objects.create(proposal=begun, leaderboard=board, facts=facts, rows=[row])
    rescoring = submission_rescore(proposal=begun, submission=submission, now=submission.created_at)
    key = board.columns.earliest("index").key
    scored = {"state": "finished", "scores": {key: SECRET}, "finished_at": submission.created_at}
    rescoring.copy.runs.update(**scored)
    Submission.objects.filter(pk=rescoring.copy_id).update(status="finished")


def scored_under_seal(site: Scenario) -> Submission:
    """A scored submission of the sealed phase, whose board is committed to."""
    submission = site.score(site.submit(phase=site.sealed), SECRET)
    commit_closed_boards(now=site.now + timedelta(days=365))
    assert Commitment.objects.exists()
    assert Notification.objects.filter(
        user=site.member(), subject=f"Submission #{submission.pk} has been scored"
    ).exists()
    return with_outputs(submission)


def scored_on_a_sealed_portion(site: Scenario) -> Submission:
    """A submission of the public phase that was scored on a sealed portion too, on a board of its own."""
    final = Leaderboard.objects.create(phase=site.phase, key="final", title="Final", index=1, visibility="sealed")
    Column.objects.create(leaderboard=final, key="private", title="MAE", sorting="asc", is_primary=True)
    Column.objects.create(
        leaderboard=final, key="sum", title="Sum", index=1, kind="computed", computation="sum", sources=["private"]
    )
    submission = site.submit()
    run = site.claim()
    body = {"outcome": "finished", "scores": {"mae": 0.25, "private": SECRET}}
    reports.run_complete(**lease(run), result=read_result(body, columns=["mae", "private"]), now=site.now)
    return with_outputs(submission)


SPOKEN = (  # reason and code of a scoring program, and what everybody reads instead of its words
    ("output_invalid", "mae_is_0.98765", "The scoring program refused the output."),
    ("output_invalid", "out_of_range", f"The output cannot be scored: {CODES['out_of_range']}."),
    ("scoring_error", "exit_code", "The scoring program failed."),
)


def submissions_with_words(site: Scenario, spoken: tuple[tuple[str, str, str], ...] = SPOKEN) -> dict[Submission, str]:
    """Submissions of the sealed phase whose scoring program told a score, with the text to be shown."""
    detail = f"Your MAE is {SECRET}; label 7 is 0.98765."
    words_by_submission = {}
    for reason, code, words in spoken:
        body = {"outcome": "failed", "reason": reason, "code": code, "detail": detail}
        words_by_submission[site.answer(site.submit(phase=site.sealed), body)] = words
    return words_by_submission


@shared
def empty_queue(permissions: PermissionSite) -> PermissionSite:
    """The fixture's own submission has left the queue."""
    assert permissions.site.claim().submission.phase == permissions.site.phase
    return permissions


@shared
def sealed_submission(empty_queue: PermissionSite) -> Submission:
    return scored_under_seal(empty_queue.site)


@shared
def submissions_with_secrets(empty_queue: PermissionSite, sealed_submission: Submission) -> list[Submission]:
    """Of a sealed phase, with a sealed portion, and one of which a scoring program said something."""
    site = empty_queue.site
    secrets = [sealed_submission, scored_on_a_sealed_portion(site), *submissions_with_words(site, SPOKEN[:1])]
    copy = Submission.objects.get(rescores__submission=sealed_submission)
    return [*secrets, copy]


@pytest.fixture
def begun(empty_queue: PermissionSite, settings: Any) -> PermissionSite:
    """Requests note what each page reads of its query."""
    settings.MIDDLEWARE = ["tests.reading.note_queries", *settings.MIDDLEWARE]
    return empty_queue


@pytest.fixture
def sealed(begun: PermissionSite, sealed_submission: Submission) -> PermissionSite:
    """The URLs name a scored submission of the sealed phase."""
    return named(begun, sealed_submission)


@pytest.fixture
def portion(begun: PermissionSite) -> PermissionSite:
    """The URLs name a submission with a sealed portion."""
    return named(begun, scored_on_a_sealed_portion(begun.site))


def page_texts(
    permissions: PermissionSite, letter: str, *, of_submission: bool = False, part: str = ""
) -> dict[str, str]:
    """Answers of every URL read by GET, with each phase and board if needed; the admin's too.

    What is refused to this person is left out: `test_permissions.py` asks for it, and it is refused without a look at scores.
    `of_submission`: only URLs that name the submission or its run. `part`: only URLs that hold it. Pages that
    this person may read whatever is sealed must answer.
    """
    client, patterns = permissions.people[letter], dict(named_patterns())
    urls = [
        page_url(permissions, name, patterns[name])
        for name, (method, allowed, _) in PAGES.items()
        if method == "get" and (letter in allowed or not allowed)
    ]
    shown = {
        page_url(permissions, name, patterns[name])
        for name, (method, allowed, _) in PAGES.items()
        if method == "get" and letter in allowed and not depends_on_seal(patterns[name])
    }
    for name, pattern in patterns.items() if letter in STAFF else ():
        if name.startswith("admin:") and name.endswith("_changelist") and not pattern.pattern.converters:
            urls.append(reverse(name))
    run, pk = permissions.arguments["run_id"], permissions.arguments["pk"]
    if letter in STAFF:
        urls += [
            reverse("admin:runs_run_change", args=[run]),
            reverse("admin:submissions_submission_change", args=[pk]),
        ]
    slug = permissions.site.competition.slug
    for number in Proposal.objects.filter(competition=permissions.site.competition).values_list("number", flat=True):
        urls += [
            reverse(name, args=[slug, number])
            for name in ("organize:proposal", "organize:proposal-status", "web:change")
        ]
    urls += [reverse("web:page-markdown", args=[slug, name]) for name in MarkdownPage.PAGES]
    boards = Leaderboard.objects.filter(phase__competition=permissions.site.competition)
    chosen = [{"phase": phase, "board": key} for phase, key in boards.values_list("phase__slug", "key")]
    if of_submission:
        urls = [url for url in urls if str(run) in url or f"/{pk}/" in url]
    urls = [url for url in urls if part in url]
    pages: dict[str, str] = {}
    for url in urls:
        answers: list[tuple[dict[str, str], set[str]]] = []
        for query in ({}, *(chosen if "/competitions/" in url else ())):
            if not is_known(query, answers):
                full_url = f"{url}?{urlencode(query)}" if query else url
                response = client.get(full_url)
                assert query or url not in shown or response.status_code < 400, (letter, url, response.status_code)
                pages[full_url] = said_by(response)
                answers.append((query, names_read(response)))
    board = reverse("web:leaderboard", args=[permissions.site.competition.slug])
    boards_read = {f"{board}?{urlencode(query)}" for query in chosen}
    assert of_submission or boards_read <= set(pages), "what a page reads is noticed"
    return pages


def tool_texts(permissions: PermissionSite, submissions: list[Submission], client: Client) -> dict[str, str]:
    """Answers of every tool that reads, about each board and submission."""
    user = User.objects.filter(pk=client.session.get(SESSION_KEY, 0)).first()
    token = secret_token(user, *Scope) if user else ""
    site = permissions.site.competition
    rows = Leaderboard.objects.filter(phase__competition=site).values_list("phase__slug", "key")
    named_rows: list[dict[str, Any]] = [{"phase": slug, "board": key} for slug, key in rows]
    numbers: list[dict[str, Any]] = [{"submission": submission.pk} for submission in submissions]
    texts = {}
    for tool in (tool for tool in TOOLS if tool.is_reading):
        every: list[dict[str, Any]] = (
            named_rows if "board" in tool.arguments else numbers if "submission" in tool.arguments else [{}]
        )
        for more in every:
            known = {"competition": site.slug, "phase": permissions.site.sealed.slug, "page": "leaderboard", **more}
            arguments = {name: known[name] for name in tool.arguments if name in known}
            if tool.name == "list_submissions":
                arguments.pop("phase")
            texts[f"{tool.name} {arguments}"] = called(tool.name, token, **arguments)[1]
    return texts


def said_by(response: Any) -> str:
    return body_text(response) + str(response.headers)


# A stranger who is signed in sees what nobody does, and T more.
@pytest.mark.parametrize("letter", mostly_in_soak("ASMTOXR", always="AMTOXR"))
def test_no_page_says_a_sealed_score_or_does_heavy_work(
    begun: PermissionSite, submissions_with_secrets: list[Submission], heavy_work: list[str], letter: str
) -> None:
    first, *others = submissions_with_secrets
    heavy_work.clear()  # of what made the world
    pages = page_texts(named(begun, first), letter)
    assert heavy_work == []
    for submission in others if letter in "MOR" else ():  # whoever is refused one is refused all: tests/permissions.py
        pages |= page_texts(named(begun, submission), letter, of_submission=True)
    pages |= tool_texts(begun, submissions_with_secrets, begun.people[letter])
    assert not [url for url, text in pages.items() if SHOWN.search(text)]


def test_a_robot_is_not_told_what_stands_on_a_sealed_board(portion: PermissionSite) -> None:
    submission = Submission.objects.get(pk=portion.arguments["pk"])
    Entry.objects.filter(
        score__submission=submission, leaderboard__key="main"
    ).delete()  # it stands on the sealed board alone
    answer = portion.people["M"].get(reverse("codabench:submission", args=[submission.pk])).json()
    assert (answer["leaderboard"], answer["on_leaderboard"]) == (None, False)
    assert [score["column_key"] for score in answer["scores"]] == ["mae"]


def test_the_public_portion_is_shown_beside_the_sealed_one(portion: PermissionSite) -> None:
    CompetitionOrganizer.objects.filter(competition=portion.site.competition).update(can_see_sealed=True)
    walked = page_texts(portion, "O", of_submission=True)
    assert len([url for url, text in walked.items() if SHOWN.search(text)]) > 5
    page = portion.people["M"].get(reverse("web:submission", args=[portion.arguments["pk"]])).content.decode()
    assert "0.2500" in page
    assert "sealed" in page
    phase_reveal(phase=portion.site.phase, now=portion.site.now, before_the_end=True)
    board = reverse("api:leaderboard", args=[portion.site.competition.slug, portion.site.phase.slug])
    assert Client().get(board, {"board": "final"}).json()["rows"][0]["scores"]["private"] == "0.9877"


def test_the_walk_would_find_it_an_organizer_with_the_right_sees_it(sealed: PermissionSite) -> None:
    CompetitionOrganizer.objects.filter(competition=sealed.site.competition).update(can_see_sealed=True)
    leaks = [url for url, text in page_texts(sealed, "O", part="leaderboard").items() if SHOWN.search(text)]
    assert len(leaks) > 5
    assert [url for url in leaks if "leaderboard.md?phase" in url], "of the sealed phase, too"
    submission = Submission.objects.get(pk=sealed.arguments["pk"])
    tools = [tool for tool, text in tool_texts(sealed, [submission], sealed.people["O"]).items() if SHOWN.search(text)]
    assert len(tools) > 1


def test_no_order_of_a_sealed_board_is_shown(sealed: PermissionSite) -> None:
    for letter, client in sealed.people.items():
        board = client.get(
            reverse("web:leaderboard", args=[sealed.site.competition.slug]), {"phase": sealed.site.sealed.slug}
        )
        assert board.status_code == 200
        assert sealed.site.team.name not in _main(board.content.decode()), letter
        for name in ("api:leaderboard", "api:leaderboard-csv", "web:leaderboard-csv"):
            answer = client.get(reverse(name, args=[sealed.site.competition.slug, sealed.site.sealed.slug]))
            assert answer.status_code == 403
            assert "sealed" in body_text(answer)


def _main(html: str) -> str:
    return html[html.index("<main") :]


def test_a_phase_is_revealed_after_its_end_or_when_it_is_meant(sealed: PermissionSite) -> None:
    site = sealed.site
    settled = site.sealed.grace_ends_at
    assert settled is not None
    with refuses(NOT_SEALED):
        phase_reveal(phase=site.phase, now=site.now)
    with pytest.raises(StillOpen, match="2030-05-31 12:15 UTC"):
        phase_reveal(phase=site.sealed, now=settled - timedelta(microseconds=1))
    assert phase_reveal(phase=site.sealed, now=settled).revealed_at == settled
    with refuses(NOT_SEALED):
        phase_reveal(phase=site.sealed, now=settled, before_the_end=True)


def test_an_organizer_reveals_in_the_admin_and_confirms_when_it_is_early(sealed: PermissionSite) -> None:
    url = reverse("admin:catalog_phase_changelist")
    preview = reverse("web:reveal", args=[sealed.site.competition.slug, sealed.site.sealed.slug])
    form = {"action": "reveal", "_selected_action": [sealed.site.sealed.pk]}
    assert sealed.people["O"].post(url, form).headers["Location"] == preview
    both = sealed.people["O"].post(url, form | {"_selected_action": [sealed.site.sealed.pk, sealed.site.phase.pk]})
    assert both.headers["Location"] == url, "one phase at a time"
    for letter, confirm, revealed in [("X", "on", False), ("O", "", False), ("O", "on", True)]:
        sealed.people[letter].post(preview, {"act": "reveal"} | ({"before_the_end": confirm} if confirm else {}))
        sealed.site.sealed.refresh_from_db()
        assert (sealed.site.sealed.revealed_at is not None) is revealed


def test_after_the_reveal_everybody_sees_it(sealed: PermissionSite) -> None:
    phase_reveal(phase=sealed.site.sealed, now=sealed.site.now, before_the_end=True)
    answer = sealed.people["A"].get(
        reverse("api:leaderboard", args=[sealed.site.competition.slug, sealed.site.sealed.slug])
    )
    assert answer.json()["rows"][0]["scores"] == {"mae": "0.9877"}


def test_a_receipt_does_not_show_digests_by_which_a_score_could_be_guessed(sealed: PermissionSite) -> None:
    run = Run.objects.get(pk=sealed.arguments["run_id"])
    run.receipt = run.receipt | {
        "outputs": {"scoring.log": "a" * 64, "scoring.zip": "b" * 64, "predictions.zip": "c" * 64}
    }
    run.save()
    pages = {
        reverse("api:submission-receipt", args=[sealed.arguments["pk"]]): "MOR",
        reverse("web:submission", args=[sealed.arguments["pk"]]): "MOR",
    }
    for url, letters in pages.items():
        for letter in letters:
            text = body_text(sealed.people[letter].get(url))
            assert ("c" * 64 in text) is (letter != "M"), (url, letter)
            assert "a" * 64 not in text, (url, letter)
            assert "b" * 64 not in text, (url, letter)
    CompetitionOrganizer.objects.filter(competition=sealed.site.competition).update(can_see_sealed=True)
    assert all("a" * 64 in body_text(sealed.people["O"].get(url)) for url in pages)


def test_a_format_error_of_a_sealed_submission_is_reported_at_once(site: Scenario) -> None:
    submission = site.answer(
        site.submit(phase=site.sealed),
        {"outcome": "failed", "reason": "output_invalid", "code": "nan", "detail": "The array 'y_pred' holds NaN."},
    )
    client = Client()
    client.force_login(site.member())
    answer = client.get(reverse("api:submission", args=[submission.pk])).json()
    assert answer["verdict"]["detail"] == f"The output cannot be scored: {CODES['nan']}."


def test_what_a_scoring_program_says_of_a_sealed_submission_is_put_in_fixed_words(begun: PermissionSite) -> None:
    words_by_submission = submissions_with_words(begun.site)
    for submission, words in words_by_submission.items():
        pages = [reverse(name, args=[submission.pk]) for name in ("web:submission", "api:submission")]
        texts = [body_text(begun.people[letter].get(page)) for letter in "MOR" for page in pages]
        assert not [text for text in texts if SHOWN.search(text)]
        assert all(words in text for text in texts)
    CompetitionOrganizer.objects.filter(competition=begun.site.competition).update(can_see_sealed=True)
    assert all(
        str(SECRET) in body_text(begun.people["O"].get(reverse("web:submission", args=[sealed_submission.pk])))
        for sealed_submission in words_by_submission
    )


def test_in_a_public_phase_the_scoring_program_speaks_for_itself(site: Scenario) -> None:
    body = {"outcome": "failed", "reason": "output_invalid", "code": "nan", "detail": "The array 'y_pred' holds NaN."}
    assert site.answer(site.submit(), body).runs.get().detail == "The array 'y_pred' holds NaN."
