"""The rules in the workspace: compared with the present ones, published after confirmation."""

from __future__ import annotations

from django.urls import reverse

from competitions.catalog.models import RulesVersion
from competitions.catalog.services import current_rules
from competitions.organize.editing.texts import difference
from tests.admin_forms import form_fields
from tests.permissions import user_client
from tests.scenario import Scenario, scenario


def rules_url(site: Scenario) -> str:
    return reverse("organize:rules", args=[site.competition.slug])


def test_who_takes_part_is_counted_before_a_new_version_is_published(site: Scenario) -> None:
    site.join()
    organizer, before = user_client(site.organizer), current_rules(site.competition)
    assert before is not None
    form = form_fields(organizer.get(rules_url(site))) | {"text": before.text + "\r\nBe kind."}
    confirm_page = organizer.post(rules_url(site), form)
    text = confirm_page.content.decode()
    assert "All 2 people who take part must accept the new version" in text
    assert "<ins>Be kind.</ins>" in text
    assert current_rules(site.competition) == before
    assert organizer.post(rules_url(site), form | {"confirmed": "yes"}).status_code == 200
    confirmed = confirm_page.context["form"].confirmation
    site.join()  # what was confirmed concerned two people
    again = organizer.post(rules_url(site), form | {"confirmed": confirmed})
    assert "All 3 people" in again.content.decode()
    assert current_rules(site.competition) == before
    confirmed = again.context["form"].confirmation
    assert organizer.post(rules_url(site), form | {"confirmed": confirmed}).status_code == 302
    after = current_rules(site.competition)
    assert after is not None
    assert (after.number, after.text) == (before.number + 1, before.text + "\nBe kind.")


def test_the_same_text_is_no_new_version(site: Scenario) -> None:
    organizer = user_client(site.organizer)
    assert organizer.post(rules_url(site), form_fields(organizer.get(rules_url(site)))).status_code == 302
    assert RulesVersion.objects.filter(competition=site.competition).count() == 1


def test_a_text_in_the_place_of_rules_is_not_published(site: Scenario) -> None:
    organizer = user_client(site.organizer)
    form = form_fields(organizer.get(rules_url(site))) | {"text": "# Terms\nTo be announced"}
    refused = organizer.post(rules_url(site), form)
    assert "Write the rules: whoever takes part accepts them." in refused.content.decode()
    assert RulesVersion.objects.filter(competition=site.competition).count() == 1


def test_a_version_that_somebody_else_published_meanwhile_is_said(site: Scenario) -> None:
    organizer = user_client(site.organizer)
    site.competition.registrations.all().delete()
    form = form_fields(organizer.get(rules_url(site)))
    assert organizer.post(rules_url(site), form | {"text": "Theirs."}).status_code == 302
    conflict = organizer.post(rules_url(site), form | {"text": "Mine."})
    assert conflict.status_code == 409
    assert "Somebody else has changed this meanwhile" in conflict.content.decode()
    assert "<del>Theirs.</del> <ins>Mine.</ins>" in " ".join(conflict.content.decode().split())


def test_rules_begin_with_a_template(site: Scenario) -> None:
    elsewhere = scenario()
    RulesVersion.objects.filter(competition=elsewhere.competition).update(text="Ours.")
    organizer = user_client(elsewhere.organizer)
    assert "Everybody may take part" not in organizer.get(rules_url(elsewhere)).content.decode()
    page = organizer.get(rules_url(elsewhere) + "?template=yes")
    assert "Everybody may take part" in page.content.decode()
    confirm_page = organizer.post(rules_url(elsewhere) + "?template=yes", form_fields(page)).content.decode()
    assert "The one person who takes part must accept" in confirm_page


def test_lines_far_from_a_change_are_left_out() -> None:
    before = [f"line {number}" for number in range(20)]
    after = [*before[:3], "other", *before[4:17], "last", *before[18:]]
    lines = list(difference("\n".join(before), "\n".join(after)))
    assert [kind for kind, _ in lines].count("gap") == 1
    assert ("del", "line 3") in lines
    assert ("ins", "last") in lines
    assert ("same", "line 10") not in lines
