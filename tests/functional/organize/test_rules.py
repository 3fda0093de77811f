"""The rules in the workspace: compared with what is in force, and published once it was read what that means."""

from __future__ import annotations

from django.urls import reverse

from competitions.catalog.models import RulesVersion
from competitions.catalog.services import current_rules
from competitions.organize.editing.rules import difference
from tests.admin_forms import fields_of
from tests.permissions import client_of
from tests.scenario import Scenario, scenario


def url_of(site: Scenario) -> str:
    return reverse("organize:rules", args=[site.competition.slug])


def test_who_takes_part_is_counted_before_a_new_version_is_published(site: Scenario) -> None:
    site.join()
    organizer, before = client_of(site.organizer), current_rules(site.competition)
    assert before is not None
    form = fields_of(organizer.get(url_of(site))) | {"text": before.text + "\r\nBe kind."}
    asked = organizer.post(url_of(site), form)
    text = asked.content.decode()
    assert "All 2 people who take part must accept the new version" in text
    assert "<ins>Be kind.</ins>" in text
    assert current_rules(site.competition) == before
    assert organizer.post(url_of(site), form | {"confirmed": "yes"}).status_code == 200
    confirmed = asked.context["form"].confirmation
    site.join()  # what was confirmed concerned two people
    again = organizer.post(url_of(site), form | {"confirmed": confirmed})
    assert "All 3 people" in again.content.decode()
    assert current_rules(site.competition) == before
    confirmed = again.context["form"].confirmation
    assert organizer.post(url_of(site), form | {"confirmed": confirmed}).status_code == 302
    after = current_rules(site.competition)
    assert after is not None
    assert (after.number, after.text) == (before.number + 1, before.text + "\nBe kind.")


def test_the_same_text_is_no_new_version(site: Scenario) -> None:
    organizer = client_of(site.organizer)
    assert organizer.post(url_of(site), fields_of(organizer.get(url_of(site)))).status_code == 302
    assert RulesVersion.objects.filter(competition=site.competition).count() == 1


def test_a_version_that_somebody_else_published_meanwhile_is_said(site: Scenario) -> None:
    organizer = client_of(site.organizer)
    site.competition.registrations.all().delete()
    form = fields_of(organizer.get(url_of(site)))
    assert organizer.post(url_of(site), form | {"text": "Theirs."}).status_code == 302
    told = organizer.post(url_of(site), form | {"text": "Mine."})
    assert told.status_code == 409
    assert "Somebody else has changed this meanwhile" in told.content.decode()
    assert "<del>Theirs.</del><ins>Mine.</ins>" in told.content.decode()


def test_rules_begin_with_a_template(site: Scenario) -> None:
    elsewhere = scenario()
    RulesVersion.objects.filter(competition=elsewhere.competition).update(text="Ours.")
    organizer = client_of(elsewhere.organizer)
    assert "Everybody may take part" not in organizer.get(url_of(elsewhere)).content.decode()
    page = organizer.get(url_of(elsewhere) + "?template=yes")
    assert "Everybody may take part" in page.content.decode()
    asked = organizer.post(url_of(elsewhere) + "?template=yes", fields_of(page)).content.decode()
    assert "The one person who takes part must accept" in asked


def test_lines_far_from_a_change_are_left_out() -> None:
    before = [f"line {number}" for number in range(20)]
    after = [*before[:3], "other", *before[4:17], "last", *before[18:]]
    lines = list(difference("\n".join(before), "\n".join(after)))
    assert [kind for kind, _ in lines].count("gap") == 1
    assert ("del", "line 3") in lines
    assert ("ins", "last") in lines
    assert ("same", "line 10") not in lines
