"""Drafts: whose they are, what they keep, what they refuse."""

from __future__ import annotations

import json
from html import unescape
from typing import Any

import pytest
from django.conf import LazySettings
from django.core import mail
from django.test import Client

from accounts.models import User
from competitions.catalog.organizers import HostsOnly
from competitions.notifications.models import Notification
from competitions.organize import drafts, hosts
from competitions.organize.models import CompetitionDraft, DraftFile, HostRequest
from competitions.organize.refusals import (
    REQUEST_OPEN,
    REQUESTS_CLOSED,
    TOO_MANY_DRAFTS,
    DraftChangedElsewhere,
)
from competitions.organize.steps.paths import answered, step_rail
from scoring.metrics import METRICS
from tests.admin_forms import form_fields
from tests.background import run_background
from tests.functional.organize.guided import SOLUTION, Guided
from tests.permissions import user_client
from tests.refusals import refuses
from tests.scenario import Scenario, person

Start = CompetitionDraft.Start


@pytest.fixture
def host(site: Scenario) -> User:
    return site.organizer


@pytest.fixture
def guided(site: Scenario, host: User) -> Guided:
    return Guided(site, drafts.draft_begin(owner=host, start=Start.TABLE, now=site.now))


@pytest.fixture
def draft(guided: Guided) -> CompetitionDraft:
    return guided.draft


def test_a_solution_is_read_in_the_background_and_its_columns_are_proposed(
    guided: Guided, draft: CompetitionDraft
) -> None:
    assert "30 rows" in guided.attach(SOLUTION)
    file = draft.files.get()
    assert (file.state, file.preview["rows"], file.preview["id_column"], file.preview["usage_column"]) == (
        "finished",
        30,
        "id",
        "Usage",
    )
    fields = form_fields(user_client(draft.owner).get(f"/host/{draft.key}/steps/columns/"))
    assert (fields["id_column"], fields["targets"]) == (["id"], ["price"])


def test_a_solution_with_infinity_and_a_nul_is_read(guided: Guided, draft: CompetitionDraft) -> None:
    assert "3 rows" in guided.attach("id,price,area,note\n1,inf,NaN,a\0b\n2,2.5,NaN,c\n3,3.5,NaN,d\n")
    assert [column.get("maximum") for column in draft.files.get().preview["columns"]] == [3, None, None, None]


def test_a_solution_with_many_columns_shows_the_first_ones(guided: Guided, draft: CompetitionDraft) -> None:
    names = [f"column_{place}" for place in range(500)]
    page = guided.attach(f"id,{','.join(names)}\n" + "".join(f"{row}{',0.25' * 500}\n" for row in range(20)))
    assert "and 451 more columns" in page
    assert "column_48" in page
    assert "column_49" not in page
    assert 'value="column_499"' in guided.page("steps/columns/")


def test_a_file_that_cannot_be_listed_says_so(guided: Guided) -> None:
    page = guided.attach("id," + ",".join(f"{'x' * 120}{place}" for place in range(6000)) + f"\n1{',2' * 6000}\n")
    assert "It has more columns, or longer names of columns, than this site can list." in page


@pytest.mark.parametrize(
    ("content", "name", "words"),
    [
        ("", "solution.csv", "is empty"),
        ("id,price\n", "solution.csv", "It cannot be used"),
        ("PK not a zip", "solution.zip", "It cannot be used"),
        ("id\n1\n", "solution.exe", "is not a file of the kind"),
        ("id,price\n", "solution.csv", "no row below it; give one row for each id"),
        ("PK", "solution.xlsx", "it is a spreadsheet; in Excel, choose Save As and then CSV UTF-8"),
        ('id,price\n1,"1,500.5"\n', "solution.csv", "in line 2 has a separator between thousands; write 1500.5"),
    ],
)
def test_a_file_that_is_no_table_is_refused_with_its_reason(
    guided: Guided, content: str, name: str, words: str
) -> None:
    assert words in guided.attach(content, name=name)


NOT_TO_BE_SCORED: list[tuple[dict[str, Any], str]] = [
    ({"id_column": "area"}, "“area” is not an id: 3 different ids in 30 rows"),
    ({"targets": ["id"]}, "“id” is the id"),
    ({"targets": []}, "This field is required"),
    ({"descriptions": "price in euros"}, "“price in euros” is none"),
    ({"descriptions": "price: a\nprice: b"}, "The column “price” is described twice"),
    ({"slices": "price"}, "“price” has another value in each row. Choose a column whose values several rows share"),
]


def test_columns_that_cannot_be_scored_are_refused(guided: Guided, draft: CompetitionDraft) -> None:
    guided.give(SOLUTION)
    for changed, words in NOT_TO_BE_SCORED:
        refused = guided.answer("columns", **changed)
        assert refused.status_code == 422, changed
        assert words in refused.content.decode()
    draft.refresh_from_db()
    assert "columns" not in draft.answers


def test_ids_that_repeat_are_named_with_their_lines(guided: Guided) -> None:
    guided.give(SOLUTION.replace("\n7,", "\n3,"))
    refused = guided.answer("columns", id_column="id", targets=["price"]).content.decode()
    assert "“id” is not an id: 3 is in lines 5 and 9. Each row needs an id of its own." in unescape(refused)


LABELS = ("toxic", "rude", "threat", "insult")


def multilabel() -> str:
    """A solution with four labels of two values, and another column of each kind before and after them."""
    rows = (f"{row},{row / 7},{','.join(str(row // bit % 2) for bit in (1, 2, 4, 8))},words {row}" for row in range(30))
    return f"id,score,{','.join(LABELS)},note\n" + "\n".join(rows) + "\n"


def test_all_columns_of_one_kind_are_ticked_and_the_others_are_named(guided: Guided) -> None:
    guided.give(multilabel())
    assert targets_shown(guided) == list(LABELS)
    page = guided.page("steps/columns/")
    assert "Not ticked: score (numbers), note (texts). Only columns of one kind are scored together." in page
    assert guided.answer("columns").status_code == 302
    metric = form_fields(guided.client.get(f"/host/{guided.draft.key}/steps/metric/"))["metric"]
    assert METRICS[metric[0]].group == "multi-label"


def targets_shown(guided: Guided) -> list[str]:
    fields = form_fields(guided.client.get(f"/host/{guided.draft.key}/steps/columns/"))
    return fields["targets"]


COMPOUNDS = "compound,smiles,logS,batch\n" + "".join(
    f"C-{row:02},{'C' * (row + 1)}O,{row * 0.2 - 4.5:.1f},{row % 3}\n" for row in range(30)
)


def test_of_columns_of_several_kinds_the_number_that_looks_like_a_target_is_ticked(guided: Guided) -> None:
    guided.give(COMPOUNDS)
    assert targets_shown(guided) == ["logS"]
    page = guided.page("steps/columns/")
    assert "Check what we found: which column is the id, and which one teams predict." in page
    assert "Not ticked: smiles (texts), batch (classes). Only columns of one kind are scored together." in page
    assert guided.answer("columns").status_code == 302


def test_text_beside_numbers_is_refused_as_targets(guided: Guided) -> None:
    guided.give(COMPOUNDS)
    refused = guided.answer("columns", targets=["smiles", "logS"])
    assert refused.status_code == 422
    assert "Text and number columns cannot be scored together. Choose one kind." in refused.content.decode()


def test_labels_in_words_and_in_numbers_are_of_one_kind(guided: Guided) -> None:
    guided.give(
        "id,toxic,rude\n" + "".join(f"{row},{'yes' if row % 2 else 'no'},{row // 2 % 2}\n" for row in range(30))
    )
    assert targets_shown(guided) == ["toxic", "rude"]
    assert guided.answer("columns").status_code == 302


def test_what_the_sample_submission_names_is_ticked(guided: Guided) -> None:
    guided.give(multilabel())
    sample = "id,score,rude\n" + "".join(f"{row},0,0\n" for row in range(30))
    guided.give(sample, role="sample_submission", name="sample.csv")
    assert targets_shown(guided) == ["score", "rude"]
    assert "The sample submission does not have them." in guided.page("steps/columns/")


@pytest.mark.parametrize(
    ("sample", "words"),
    [
        (
            "row_id,price\n1,0\n",
            "The sample submission has no column “id”, only “row_id”, “price”. Give the id the same name",
        ),
        ("id,price\n1,0\n", "The solution has 30 rows, and the sample submission 1. Give both files the same ids."),
    ],
)
def test_a_sample_with_other_ids_is_refused_to_the_host(guided: Guided, sample: str, words: str) -> None:
    guided.give(SOLUTION)
    guided.give(sample, role="sample_submission", name="sample.csv")
    assert words in guided.answer("columns", targets=["price"]).content.decode()


def test_a_column_that_tells_training_rows_from_test_rows_is_noticed(guided: Guided) -> None:
    guided.give("id,price,set\n1,10,train\n2,20,test\n3,30,train\n")
    assert "The column “set” tells training rows from test rows." in guided.page("steps/columns/")


def test_test_data_that_tell_the_answers_are_refused(guided: Guided) -> None:
    guided.give(SOLUTION)
    guided.give("id,price\n1,2\n", role="test", name="test.csv")
    assert "The test data hold price" in guided.answer("columns", targets=["price"]).content.decode()


def test_back_keeps_what_was_typed_right_or_wrong(guided: Guided) -> None:
    went = guided.answer("schedule", go="back", max_team_size="many")
    assert went["Location"].endswith("/steps/about/")
    assert 'value="many"' in guided.page("steps/schedule/")
    dates = {"opens_at": "2030-06-01T12:00", "closes_at": "2030-05-01T12:00"}
    shown = guided.answer("schedule", **dates).content.decode()
    assert ("Choose a later end." in shown, "Teams join and submit from" in shown) == (True, False)


def test_two_tabs_at_once_lose_nothing(site: Scenario, draft: CompetitionDraft) -> None:
    client, url = user_client(draft.owner), f"/host/{draft.key}/steps/about/"
    first, second = form_fields(client.get(url)), form_fields(client.get(url))
    assert client.post(url, first | {"title": "Prices", "go": "next"}).status_code == 302
    refused = client.post(url, second | {"title": "Costs", "go": "next"})
    assert (refused.status_code, 'value="Costs"' in refused.content.decode()) == (409, True)
    assert "changed in another tab" in refused.content.decode()
    assert client.post(url, form_fields(refused) | {"go": "next"}).status_code == 302
    draft.refresh_from_db()
    assert draft.title == "Costs"


def test_a_version_that_is_old_is_refused_and_nothing_is_written(site: Scenario, draft: CompetitionDraft) -> None:
    drafts.draft_answer(draft=draft, step="about", answers={"title": ["A"]}, version=1, now=site.now)
    with pytest.raises(DraftChangedElsewhere):
        drafts.draft_answer(draft=draft, step="about", answers={"title": ["B"]}, version=1, now=site.now)
    draft.refresh_from_db()
    assert (draft.title, draft.version) == ("A", 2)


def test_the_draft_of_somebody_else_does_not_exist(guided: Guided, draft: CompetitionDraft) -> None:
    guided.give(SOLUTION)
    stranger = user_client(person(is_staff=True, is_superuser=True))
    for path in ("", "steps/data/", "trial/", "trial/status/", "review/", "files/solution/status/"):
        assert stranger.get(f"/host/{draft.key}/{path}").status_code == 404, path
    for path in (
        "steps/data/",
        "steps/data/preview/",
        "files/solution/",
        "files/solution/remove/",
        "trial/build/",
        "review/publish/",
        "discard/",
    ):
        assert stranger.post(f"/host/{draft.key}/{path}").status_code == 404, path
    assert DraftFile.objects.count() == 1


def test_pages_that_nobody_changed_follow_the_answers(guided: Guided, draft: CompetitionDraft) -> None:
    guided.answer("about", title="Prices", subtitle="What houses cost")
    guided.answer("pages", rules_text="Be fair.")
    draft.refresh_from_db()
    assert set(draft.answers["pages"]) == {"rules_text"}
    guided.answer("about", subtitle="What flats cost")
    shown = guided.page("steps/pages/")
    assert "What flats cost" in shown
    assert "Be fair." in shown


def test_the_pages_are_ticked_once_they_were_saved(guided: Guided, draft: CompetitionDraft) -> None:
    def is_ticked() -> bool:
        return next(item.is_done for item in step_rail(guided.draft, "data").items if item.slug == "pages")

    assert not is_ticked()
    guided.answer("pages")
    draft.refresh_from_db()
    assert is_ticked()


def test_a_draft_that_is_thrown_away_takes_its_files_with_it(guided: Guided, draft: CompetitionDraft) -> None:
    guided.give(SOLUTION)
    stored = draft.files.get().file
    user_client(draft.owner).post(f"/host/{draft.key}/discard/")
    assert not CompetitionDraft.objects.exists()
    assert not DraftFile.objects.exists()
    draft.owner.uploads.all().delete()
    stored.refresh_from_db()
    assert stored.pk


def test_one_person_has_no_more_drafts_than_the_limit(
    site: Scenario, host: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drafts, "MAX_DRAFTS", 1)
    drafts.draft_begin(owner=host, start=Start.CODE, now=site.now)
    with refuses(TOO_MANY_DRAFTS):
        drafts.draft_begin(owner=host, start=Start.CODE, now=site.now)


@pytest.mark.parametrize(
    ("policy", "may_begin", "may_ask"),
    [("everybody", True, False), ("on_request", False, True), ("staff", False, False)],
)
def test_who_hosts_is_the_sites_policy(
    site: Scenario, settings: LazySettings, policy: str, may_begin: bool, may_ask: bool
) -> None:
    settings.HOSTS = policy
    guest = person()
    shown = user_client(guest).get("/host/").content.decode()
    assert ("Begin with a table" in shown, "Ask to host" in shown) == (may_begin, may_ask)
    if not may_begin:
        with pytest.raises(HostsOnly):
            drafts.draft_begin(owner=guest, start=Start.TABLE, now=site.now)
    if not may_ask:
        with refuses(REQUESTS_CLOSED):
            hosts.host_request(user=guest, purpose="A course", now=site.now)


def test_who_asks_to_host_is_told_of_the_decision_and_then_may(
    site: Scenario, django_capture_on_commit_callbacks: Any
) -> None:
    guest, root = person(), person(is_staff=True, is_superuser=True)
    client: Client = user_client(guest)
    with django_capture_on_commit_callbacks(execute=True):
        client.post("/host/ask/", {"purpose": "A course on statistics"})
    host_request = HostRequest.objects.get()
    assert [message.to for message in mail.outbox] == [[root.email]]
    with refuses(REQUEST_OPEN):
        hosts.host_request(user=guest, purpose="The same again", now=site.now)
    with django_capture_on_commit_callbacks(execute=True):
        assert hosts.host_request_decide(request=host_request, grant=True, by=root, now=site.now)
    assert Notification.objects.get(user=host_request.user).subject == "Hosting competitions: granted"
    assert not hosts.host_request_decide(request=host_request, grant=False, by=root, now=site.now)
    assert mail.outbox[-1].to == [guest.email]
    guest.refresh_from_db()
    assert guest.is_staff
    assert "Begin with a table" in client.get("/host/").content.decode()


def test_organizers_see_requests_and_administrators_alone_decide(site: Scenario) -> None:
    hosts.host_request(user=person(), purpose="A course", now=site.now)
    form = {"action": "grant", "_selected_action": [str(HostRequest.objects.get().pk)]}
    for user, state in ((site.organizer, "open"), (person(is_staff=True, is_superuser=True), "granted")):
        user_client(user).post("/admin/organize/hostrequest/", form)
        assert HostRequest.objects.get().state == state


def test_answers_are_plain_values(guided: Guided, draft: CompetitionDraft) -> None:
    guided.answer("about", title="Prices")
    draft.refresh_from_db()
    assert json.dumps(draft.answers["about"])


def metric_page(site: Scenario) -> Guided:
    """A draft whose target suits metrics with settings."""
    guided = Guided(site, drafts.draft_begin(owner=site.organizer, start=CompetitionDraft.Start.TABLE, now=site.now))
    guided.give(SOLUTION)
    guided.answer("columns", targets=["price"])
    return guided


def test_a_metrics_settings_are_fields_with_their_usual_values(site: Scenario) -> None:
    guided = metric_page(site)
    answered = guided.answer("metric", metric="huber_loss", **{"huber_loss-delta": "2.5"})
    assert answered.status_code == 302, answered.content.decode()
    guided.draft.refresh_from_db()
    assert (metric_answers(guided) or {})["parameters"] == {"delta": 2.5}
    assert "mean_pinball_loss-levels" not in guided.draft.answers["metric"], "settings of metrics that are not chosen"
    guided.answer("metric", metric="mean_pinball_loss", **{"mean_pinball_loss-levels": "0.25, 0.75"})
    guided.draft.refresh_from_db()
    assert (metric_answers(guided) or {})["parameters"] == {"levels": [0.25, 0.75]}


def metric_answers(guided: Guided) -> dict[str, Any] | None:
    return answered(guided.draft, "metric")


UNFIT = [
    ("huber_loss", "delta", "-1", "greater than or equal to"),
    ("huber_loss", "delta", "wide", "Enter a number"),
    ("mean_pinball_loss", "levels", "0.5 most", "Write numbers with spaces between"),
    ("mean_pinball_loss", "levels", "1.5", "give a number"),
]


def test_a_setting_that_does_not_fit_is_named_at_its_field(site: Scenario) -> None:
    guided = metric_page(site)
    for metric, name, value, words in UNFIT:
        refused = guided.answer("metric", metric=metric, **{f"{metric}-{name}": value})
        assert (refused.status_code, words in refused.content.decode()) == (422, True), refused.content.decode()


def test_a_metric_that_the_target_is_too_low_for_is_neither_offered_nor_taken(guided: Guided) -> None:
    guided.give(COMPOUNDS)
    guided.answer("columns", targets=["logS"])
    page = guided.page("steps/metric/")
    assert 'value="rmse"' in page
    assert not any(f'value="{name}"' in page for name in ("rmsle", "poisson_deviance", "gamma_deviance"))
    refused = guided.answer("metric", metric="rmsle")
    assert refused.status_code == 422
    assert "This metric needs values above -1; your target has values down to -4.5." in refused.content.decode()
    refused = guided.answer("metric", metric="poisson_deviance").content.decode()
    assert "This metric needs values of 0 or above; your target has values down to -4.5." in refused


def test_further_metrics_need_the_same_predictions_as_the_first(site: Scenario) -> None:
    guided = metric_page(site)
    refused = guided.answer("metric", metric="rmse", more=["mae", "mean_pinball_loss"])
    assert (refused.status_code, "needs other predictions than" in refused.content.decode()) == (422, True)
    ticked: dict[str, Any] = {"metric": "rmse", "more": ["mae", "huber_loss"], "huber_loss-delta": "2.5"}
    assert guided.answer("metric", **ticked).status_code == 302
    guided.draft.refresh_from_db()
    assert (metric_answers(guided) or {})["more"] == {"mae": {}, "huber_loss": {"delta": 2.5}}
    groups = guided.page("steps/metric/").count('data-only-with="metric=')
    assert groups > 1, "metrics of other predictions stand apart"


def test_next_waits_while_a_file_is_being_read_and_goes_on_by_itself(guided: Guided, draft: CompetitionDraft) -> None:
    guided.give(SOLUTION)
    draft.files.update(state="waiting", preview={})
    waiting = guided.answer("data")
    assert (waiting.status_code, waiting["Location"]) == (302, f"/host/{draft.key}/steps/data/wait/")
    shown = guided.page("steps/data/wait/")
    assert "The next step opens by itself once it is read" in " ".join(shown.split())
    assert "solution.csv" in shown
    poll = {"HX-Request": "true"}
    assert "HX-Redirect" not in guided.client.get(waiting["Location"], headers=poll).headers
    run_background(at=guided.site.now)
    assert guided.client.get(waiting["Location"], headers=poll)["HX-Redirect"] == f"/host/{draft.key}/steps/columns/"
    assert guided.client.get(waiting["Location"])["Location"] == f"/host/{draft.key}/steps/columns/"
    draft.files.update(state="failed", fault="It is empty.", preview={})
    assert guided.client.get(waiting["Location"])["Location"] == f"/host/{draft.key}/steps/data/"
