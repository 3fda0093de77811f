"""One place writes phases: consequences are confirmed once, and teams hear of a moved end."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import datetime, timedelta
from itertools import cycle

import pytest
import time_machine
from django.core.exceptions import ValidationError
from django.urls import reverse

from competitions.catalog.changes.phases import change_phase, faults_of_change, store_phase
from competitions.catalog.models import Competition, Phase, Task
from competitions.notifications.models import Notification
from competitions.submissions.notices import deadlines_notify
from core.confirmations import NeedsConfirmation, state_digest
from tests.admin_forms import form_fields, save_confirmed
from tests.permissions import user_client
from tests.scenario import NOON, Scenario, person
from tests.services import REPOSITORY
from tests.soak import in_soak

Move = Callable[[Scenario, datetime], None]


def deadline_news(site: Scenario) -> list[str]:
    return list(Notification.objects.filter(kind="deadline", user=site.member()).values_list("subject", flat=True))


def through_the_service(site: Scenario, closes_at: datetime) -> None:
    site.phase.closes_at = closes_at
    store_phase(site.phase, tasks=site.phase.tasks.all(), now=site.now)


def through_the_admin(site: Scenario, closes_at: datetime) -> None:
    url = reverse("admin:catalog_phase_change", args=[site.phase.pk])
    moved = [f"{closes_at:%Y-%m-%dT%H:%M}"]
    assert save_confirmed(user_client(site.organizer), url, closes_at=moved).status_code == 302


def through_the_workspace(site: Scenario, closes_at: datetime) -> None:
    client = user_client(site.organizer)
    url = reverse("organize:phase", args=[site.competition.slug, site.phase.pk])
    form = form_fields(client.get(url)) | {"closes_at": [f"{closes_at:%Y-%m-%dT%H:%M}"]}
    confirmation = client.post(url, form).context["form"].confirmation
    assert client.post(url, form | {"confirmed": confirmation}).status_code == 302


@pytest.mark.parametrize(
    "ways",
    [
        pytest.param([through_the_service], id="service", marks=in_soak),
        pytest.param([through_the_admin], id="admin", marks=in_soak),
        pytest.param([through_the_workspace], id="workspace", marks=in_soak),
        pytest.param([through_the_service, through_the_admin, through_the_workspace], id="in turn"),
    ],
)
def test_teams_hear_of_a_moved_end_whoever_moves_it(site: Scenario, ways: list[Move]) -> None:
    moves = cycle(ways)
    with time_machine.travel(site.now, tick=False):
        next(moves)(site, NOON + timedelta(days=40))
        next(moves)(site, NOON + timedelta(days=20))
        next(moves)(site, NOON - timedelta(hours=1))
        next(moves)(site, NOON + timedelta(days=2))
        assert deadlines_notify(now=site.now) == 0, "the news of a move stands for the notice that is due"
        assert deadlines_notify(now=NOON + timedelta(days=1, hours=1)) > 0, "the one of the last day still comes"
    name = f"{site.phase.name} of {site.competition}"
    news = ("was extended", "ends earlier", "has closed", "is open again")
    assert list(reversed(deadline_news(site)))[:4] == [f"{name} {each}" for each in news]


@pytest.mark.parametrize("why_not", ["a draft", "an end of the past", "the same end"])
def test_nobody_is_told_what_is_no_news(site: Scenario, why_not: str) -> None:
    closes_at = site.phase.closes_at
    assert closes_at is not None
    if why_not == "a draft":
        Competition.objects.filter(pk=site.competition.pk).update(is_published=False)
        site.phase.competition.refresh_from_db()
        closes_at += timedelta(days=1)
    elif why_not == "an end of the past":
        Phase.objects.filter(pk=site.phase.pk).update(closes_at=NOON - timedelta(days=2))
        closes_at = NOON - timedelta(days=1)
    site.phase.description = "New words."
    through_the_service(site, closes_at)
    assert Phase.objects.get(pk=site.phase.pk).description == "New words."
    assert deadline_news(site) == []


def test_a_confirmation_is_of_exactly_one_change_of_one_state(site: Scenario) -> None:
    tasks = list(site.phase.tasks.all())
    site.submit()
    site.phase.max_submissions = 1
    with pytest.raises(NeedsConfirmation, match="The quota per team shrinks") as refusal:
        change_phase(site.phase, tasks=tasks, now=site.now)
    Phase.objects.filter(pk=site.phase.pk).update(description="Somebody else's.")
    site.phase.description = "Somebody else's."
    with pytest.raises(NeedsConfirmation) as again:
        change_phase(site.phase, tasks=tasks, now=site.now, confirmed=refusal.value.confirmation)
    assert Phase.objects.get(pk=site.phase.pk).max_submissions != 1
    change_phase(site.phase, tasks=tasks, now=site.now, confirmed=again.value.confirmation)
    assert Phase.objects.get(pk=site.phase.pk).max_submissions == 1


def test_a_confirmation_tells_nothing_from_zero() -> None:
    nothing: list[object] = [None, "", False, []]
    assert len({state_digest(value) for value in nothing}) == 1
    assert len({state_digest(value) for value in (None, 0, 0.0, 1, "x")}) == 5


def test_a_moved_end_says_when_the_reveal_stays_planned(site: Scenario) -> None:
    def impact(**changed: datetime) -> list[str]:
        phase = Phase.objects.get(pk=site.sealed.pk)
        for name, at in changed.items():
            setattr(phase, name, at)
        with pytest.raises(NeedsConfirmation) as refusal:
            change_phase(phase, tasks=phase.tasks.all(), now=site.now)
        return refusal.value.impact

    stays = f"The scores are still planned to be revealed on {NOON + timedelta(days=90):%Y-%m-%d} 12:00 UTC."
    assert stays not in impact(closes_at=NOON + timedelta(days=20)), "none is planned"
    Phase.objects.filter(pk=site.sealed.pk).update(reveal_at=NOON + timedelta(days=90))
    assert stays in impact(closes_at=NOON + timedelta(days=20))
    assert any("before the new end: change" in text for text in impact(closes_at=NOON + timedelta(days=100)))
    soon = "Less than 24 hours are left until the new end."
    assert [soon in impact(closes_at=NOON + timedelta(hours=hours)) for hours in (23, 25)] == [True, False]
    assert stays not in impact(closes_at=NOON + timedelta(days=20), reveal_at=NOON + timedelta(days=21))
    assert stays not in impact(reveal_at=NOON + timedelta(days=21))
    Phase.objects.filter(pk=site.sealed.pk).update(revealed_at=NOON)
    assert stays not in impact(closes_at=NOON + timedelta(days=20))


def test_what_is_wrong_is_refused_with_the_field_and_nothing_is_written(site: Scenario) -> None:
    site.phase.docker_image = "not an image!"
    site.phase.description = "Not stored."
    with pytest.raises(ValidationError, match="docker_image"):
        store_phase(site.phase, tasks=site.phase.tasks.all(), now=site.now)
    assert Phase.objects.get(pk=site.phase.pk).description != "Not stored."


def test_what_fields_may_not_be_together_is_refused_by_field(site: Scenario) -> None:
    Task.objects.update(is_public_split=True)
    site.phase.smoke_task = task = site.phase.tasks.get()
    with pytest.raises(ValidationError, match="take its task out of the phase's tasks") as refused:
        change_phase(site.phase, tasks=[task], now=site.now)
    assert list(refused.value.message_dict) == ["smoke_task"]


@pytest.mark.parametrize("page", ["organize:phase", "admin:catalog_phase_change"])
def test_a_private_task_of_somebody_else_is_neither_shown_nor_taken(site: Scenario, page: str) -> None:
    own_task = site.phase.tasks.get()
    private = Task.objects.create(
        name="Private labels", owner=person(is_staff=True), scoring_program=own_task.scoring_program
    )
    arguments: list[object] = [site.phase.pk] if page.startswith("admin") else [site.competition.slug, site.phase.pk]
    client, url = user_client(site.organizer), reverse(page, args=arguments)
    assert private.name not in client.get(url).content.decode()
    chosen = {"tasks": [str(own_task.pk), str(private.pk)]}
    assert "or to somebody else, or is gone" in client.post(url, form_fields(client.get(url)) | chosen).content.decode()
    with pytest.raises(ValidationError, match="has not shared it"):
        change_phase(site.phase, tasks=[own_task, private], now=site.now)
    assert list(site.phase.tasks.all()) == [own_task]
    private.shared_with.add(site.organizer)
    assert private.name in client.get(url).content.decode()
    assert not list(faults_of_change(site.phase, site.competition, {"tasks": [own_task, private]}))


@pytest.mark.parametrize("page", ["organize:phase", "admin:catalog_phase_change"])
def test_two_phases_have_two_addresses(site: Scenario, page: str) -> None:
    arguments: list[object] = [site.phase.pk] if page.startswith("admin") else [site.competition.slug, site.phase.pk]
    client, url = user_client(site.organizer), reverse(page, args=arguments)
    answer = client.post(url, form_fields(client.get(url)) | {"slug": site.sealed.slug})
    assert "Another phase has the address" in answer.content.decode()
    assert Phase.objects.get(pk=site.phase.pk).slug == site.phase.slug


def test_what_an_organizer_defines_is_written_in_one_place_alone() -> None:
    """Columns that services maintain, such as the time of the reveal, are written by `update_fields`."""
    rows = "competition|phase|board|leaderboard|column|task"
    writes = re.compile(
        rf"(Competition|Phase|Leaderboard|Column|Task)\.objects\.create\(|\b({rows})\.save\(\)|phase\.tasks\.(set|add|remove)\("
    )
    own = {
        "leaderboards/growing/joining.py": "a dataset that joined is a task of its own",
        "bundles/importing/tasks.py": "a task by itself",
    }
    for folder in ("competitions", "platform"):
        for path in (REPOSITORY / folder).rglob("*.py"):
            if "catalog/changes/" not in str(path) and not str(path).endswith(tuple(own)):
                assert not writes.search(path.read_text()), path
