"""Tags, commit and link of a submission: who writes them, who reads them, and what is refused."""

from __future__ import annotations

import csv
import io

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from audit.models import AuditEntry
from competitions.catalog.models import Column
from competitions.leaderboards.ranking.fact_columns import SOURCE
from competitions.leaderboards.services import board_rebuild
from competitions.runs.models import Run
from competitions.submissions.annotations import annotations_edit, read_annotations
from competitions.submissions.models import Submission
from core.refusals import Refusal
from tests.pages import page_words
from tests.permissions import body_text, user_client
from tests.scenario import FILE_NAME, Scenario, prediction_bytes

COMMIT, LINK = "3f2a9c1", "https://github.com/late-models/gin"


def annotate(site: Scenario, submission: Submission, *tags: str, commit: str = COMMIT, link: str = LINK) -> None:
    annotations = read_annotations(tags=tags, commit=commit, link=link)
    annotations_edit(submission=submission, annotations=annotations, by=site.member())


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"link": "javascript:alert(1)"}, "link"),
        ({"link": "http://example.org/"}, "link"),
        ({"link": "https://ada:secret@example.org/"}, "link"),
        ({"link": "https://g\N{CYRILLIC SMALL LETTER I}thub.com/x"}, "link"),
        ({"link": "https://example.org/\N{RIGHT-TO-LEFT OVERRIDE}gpj.exe"}, "link"),
        ({"link": "https://example.org/a\nb"}, "link"),
        ({"link": "https://example.org/" + "a" * 300}, "link"),
        ({"commit": "main"}, "commit"),
        ({"commit": "a" * 65}, "commit"),
        ({"tags": [f"t{number}" for number in range(11)]}, "tags"),
        ({"tags": ["two words"]}, "tags"),
        ({"tags": ["a" * 31]}, "tags"),
        ({"tags": ["<b>"]}, "tags"),
        ({"tags": ["a\0b"]}, "tags"),
    ],
)
def test_what_is_no_tag_commit_or_safe_link_is_refused_by_name(given: dict[str, object], field: str) -> None:
    with pytest.raises(Refusal) as refusal:
        read_annotations(**given)  # type: ignore[arg-type]
    assert (refusal.value.code, refusal.value.extra) == ("annotation_invalid", {"field": field})


def test_what_is_right_is_stored_in_one_form() -> None:
    known = read_annotations(tags=["GIN", "gin", "C++", "lr:0.01"], commit=" 3F2A9C1 ", link=f" {LINK} ")
    assert (known.tags, known.commit, known.link) == (("gin", "c++", "lr:0.01"), COMMIT, LINK)


def test_the_form_takes_annotations_and_a_refused_one_keeps_what_was_typed(site: Scenario) -> None:
    client, slug = user_client(site.member()), site.competition.slug
    upload = site.upload(prediction_bytes(), FILE_NAME)
    sent = {"phase": site.phase.slug, "kind": "prediction", "upload": upload.key, "tags": "GIN, wide", "commit": "main"}
    sent["link"] = LINK
    page = client.post(reverse("web:submit", args=[slug]), sent, follow=True)
    assert "'main' is not a commit" in page_words(page)
    assert 'value="GIN, wide"' in page.content.decode()
    assert not Submission.objects.exists()
    client.post(reverse("web:submit", args=[slug]), sent | {"commit": COMMIT})
    submission = Submission.objects.get()
    assert (submission.tags, submission.commit, submission.link) == (("gin", "wide"), COMMIT, LINK)
    page = client.post(
        reverse("web:submission-annotate", args=[submission.pk]),
        {"tags": "deep", "link": "http://a.example"},
        follow=True,
    )
    assert "It begins with https://" in page_words(page)
    assert 'name="tags" value="deep"' in page.content.decode()
    client.post(reverse("web:submission-annotate", args=[submission.pk]), {"tags": "deep", "link": LINK})
    submission.refresh_from_db()
    assert (submission.tags, submission.commit) == (("deep",), "")
    shown = client.get(reverse("web:submission", args=[submission.pk])).content.decode()
    assert f'<a href="{LINK}" rel="noopener noreferrer nofollow ugc">' in shown


def test_the_list_is_filtered_by_a_tag_and_downloaded(
    site: Scenario, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    second, sealed = site.score(site.submit(), 0.123456), site.score(site.submit(phase=site.sealed), 0.987654321)
    first, rival = site.submit(), site.submit(team=site.join())
    annotate(site, first, "gin")
    annotate(site, second, "gin-virtual", "wide")
    Submission.objects.filter(pk=first.pk).update(description="=1+1")
    Run.objects.filter(submission=second).update(meters={"wall_s": 2.5})
    client, page = user_client(site.member()), reverse("web:submissions", args=[site.competition.slug])
    shown = client.get(page, {"tag": "GIN"}).content.decode()
    assert f"submission-{first.pk}" in shown
    assert f"submission-{second.pk}" not in shown, "a part of a word is another tag"
    assert "has the tag “100%”" in page_words(client.get(page, {"tag": "100%"}))
    path = reverse("web:own-submissions-csv", args=[site.competition.slug])
    rows = list(csv.DictReader(io.StringIO(body_text(client.get(path)))))
    assert [row["id"] for row in rows] == [str(first.pk), str(sealed.pk), str(second.pk)], f"not #{rival.pk}"
    assert rows[2]["test-dev/main/mae"] == "0.1235", "as the board shows it"
    assert (rows[2]["tags"], rows[2]["link"], rows[0]["description"]) == ("gin-virtual wide", LINK, "'=1+1")
    assert (rows[2]["wall_s"], rows[0]["wall_s"]) == ("2.5", ""), "what its runs took"
    assert "0.98" not in str(rows)
    assert rows[1]["has_sealed_scores"] == "yes"
    with django_assert_max_num_queries(12):
        body_text(client.get(path, {"tag": "gin"}))
    api = f"/api/v1/competitions/{site.competition.slug}/team/submissions.csv"
    by_api = list(csv.DictReader(io.StringIO(body_text(client.get(api, {"phase": "test-dev", "tag": "wide"})))))
    assert [(row["id"], row["mae"]) for row in by_api] == [(str(second.pk), "0.1235")]


def test_commit_and_link_stand_on_the_board_and_tags_do_not(site: Scenario) -> None:
    submission = site.score(site.submit(), 0.5)
    board, slug = site.phase.leaderboards.get(), site.competition.slug
    page = reverse("web:leaderboard", args=[slug]) + f"?phase={site.phase.slug}"
    assert LINK not in Client().get(page).content.decode()
    annotate(site, submission, "secret-trick")
    row = Client().get(page).content.decode()
    assert f'href="{LINK}" rel="noopener noreferrer nofollow ugc"' in row
    entry = Client().get(reverse("web:entry", args=[board.entries.get().pk])).content.decode()
    assert COMMIT in entry
    api = Client().get(f"/api/v1/competitions/{slug}/phases/{site.phase.slug}/leaderboard/").json()["rows"][0]
    assert (api["commit"], api["link"]) == (COMMIT, LINK)
    lines = body_text(Client().get(reverse("web:leaderboard-csv", args=[slug, site.phase.slug])))
    assert f"{COMMIT},{LINK}" in lines
    assert "secret-trick" not in row + entry + str(api) + lines
    assert "secret-trick" in page_words(
        user_client(site.organizer).get(reverse("web:submission", args=[submission.pk]))
    )
    annotate(site, submission, commit="", link="")
    assert LINK not in Client().get(page).content.decode()


def test_a_row_with_an_average_rank_keeps_it_when_commit_and_link_change(site: Scenario) -> None:
    submission, board = site.score(site.submit(), 0.5), site.phase.leaderboards.get()
    board.columns.update(is_primary=False)
    described = {"computation": "avg_rank", "sources": ["mae"], "sorting": "asc", "is_primary": True}
    Column.objects.create(leaderboard=board, key="rank", title="Rank", kind="computed", **described)
    board_rebuild(board)
    annotate(site, submission)
    entry = board.entries.get()
    assert (entry.values["rank"], entry.values[SOURCE]) == (1.0, {"commit": COMMIT, "link": LINK})
    annotate(site, submission, commit="", link="")
    assert board.entries.get().values == {key: value for key, value in entry.values.items() if key != SOURCE}


def test_organizers_may_remove_commit_and_link_and_write_none(site: Scenario) -> None:
    submission = site.score(site.submit(), 0.5)
    annotate(site, submission, "gin")
    client, path = user_client(site.organizer), f"/api/v1/submissions/{submission.pk}/"
    given: list[dict[str, object]] = [{"link": "https://example.org/"}, {"tags": []}, {"commit": "abcdef0"}]
    for body in given:
        refused = client.patch(path, body, content_type="application/json")
        assert (refused.status_code, refused.json()["code"]) == (403, "not_of_your_team")
    stranger = user_client(site.member(site.join()))
    assert stranger.patch(path, {"link": ""}, content_type="application/json").status_code == 404
    page = client.get(reverse("web:submission", args=[submission.pk])).content.decode()
    assert "Remove commit and link" in page
    answer = client.patch(path, {"link": "", "commit": ""}, content_type="application/json").json()
    entry = AuditEntry.objects.first()
    assert entry is not None
    assert (entry.actor, entry.path, entry.status) == (site.organizer, path, 200)
    assert entry.fields == {"link": "", "commit": ""}
    assert (answer["tags"], answer["commit"], answer["link"]) == (["gin"], "", "")
    own = user_client(site.member())
    assert own.patch(path, {"tags": ["wide"]}, content_type="application/json").json()["tags"] == ["wide"]
    assert [row["id"] for row in own.get("/api/v1/submissions/?tag=wide").json()["results"]] == [submission.pk]
    assert client.get("/api/v1/submissions/?tag=wide").json()["results"] == [], "tags are a team's own"


def test_what_an_organizer_removes_on_the_page_is_in_the_audit_log_and_what_a_team_writes_is_not(
    site: Scenario,
) -> None:
    submission = site.submit()
    annotate(site, submission, "gin")
    path = reverse("web:submission-annotate", args=[submission.pk])
    user_client(site.member()).post(path, {"tags": "gin", "commit": COMMIT, "link": LINK})
    assert not AuditEntry.objects.exists()
    user_client(site.organizer).post(path, {"tags": "gin", "commit": "abcdef0", "link": ""})
    user_client(site.organizer).post(path, {"tags": "gin", "commit": "", "link": ""})
    removed, refused = AuditEntry.objects.all()
    assert (removed.actor, removed.view, removed.status) == (site.organizer, "web:submission-annotate", 302)
    assert removed.fields == {"tags": "gin", "commit": "", "link": ""}
    assert refused.fields["commit"] == "abcdef0", "nobody writes one for a team"
    submission.refresh_from_db()
    assert (submission.tags, submission.commit, submission.link) == (("gin",), "", "")
