"""Mentions as links: to pages that the reader gets, and never inside code, quotes, formulas or links."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from accounts.models import Profile, User
from competitions.discussions.models import Post, Topic
from competitions.discussions.texts import mentions
from competitions.web.views.discussions.mentions import MOST_NAMES, link_mentions
from tests.functional.discussions.world import open_topic, reply
from tests.permissions import user_client
from tests.scenario import Scenario, person

SECOND = timedelta(seconds=1)


def show(site: Scenario, topic: Topic, client: Client | None = None) -> str:
    answer = (client or Client()).get(reverse("web:topic", args=[site.competition.slug, topic.pk]))
    return answer.content.decode()


def public_person(name: str) -> User:
    user = person(name)
    Profile.objects.create(user=user, is_public=True)
    return user


def test_names_lead_to_public_profiles_alone(site: Scenario) -> None:
    public_person("Ada.L")
    person("quiet")
    gone = public_person("gone")
    User.objects.filter(pk=gone.pk).update(is_active=False)
    topic = open_topic(
        site,
        by=site.organizer,
        text="Ask @ada.l. Or @quiet, @gone, @nobody, mail@ada.l and [@Ada.L](https://example.org).",
    )
    text = show(site, topic)
    assert f'<a class="mention" href="{reverse("web:person", args=["Ada.L"])}">@ada.l</a>. Or @quiet, @gone' in text
    assert text.count('class="mention"') == 1


def test_nothing_is_linked_in_code_quotes_formulas_and_links(site: Scenario) -> None:
    public_person("ada")
    lines = ("`@ada`", "```\n@ada\n```", "> @ada", "$@ada$", "$$\n@ada\n$$", "[@ada](https://example.org)", "    @ada")
    topic = open_topic(site, by=site.organizer, text="\n\n".join(("Text.", *lines)))
    assert 'class="mention"' not in show(site, topic)
    reply(topic, site.organizer, "\n\n".join(("@ada", *lines)), at=site.now + SECOND)
    assert show(site, topic).count('class="mention"') == 1


def test_a_team_is_linked_for_those_who_see_its_rows(site: Scenario) -> None:
    team = site.join("Fish & <Chips>")
    site.score(site.submit(team=team, phase=site.sealed), 0.5)
    topic = open_topic(site, text="Well done @[fish & <chips>], and @[Nobody].")
    assert 'class="mention"' not in show(site, topic)  # its only row is sealed
    site.score(site.submit(team=team), 0.5)
    address = reverse("web:public-team", args=[site.competition.slug, team.key])
    assert f'<a class="mention" href="{address}">@[fish &amp; &lt;chips&gt;]</a>, and @[Nobody]' in show(site, topic)
    assert Client().get(address).status_code == 200


def test_a_page_with_many_mentions_asks_once_and_links_so_many_at_most(
    site: Scenario, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for number in range(MOST_NAMES + 40):
        public_person(f"p{number:03}")
    topic = open_topic(site)
    texts = [" ".join(f"@p{number + start:03}" for start in range(10)) for number in range(0, MOST_NAMES + 40, 10)]
    for text in texts:
        Post.objects.create(topic=topic, author=site.member(), body=text, created_at=site.now)
    client = user_client(site.member())
    with django_assert_max_num_queries(10):
        text = show(site, topic, client)
    assert text.count('class="mention"') == MOST_NAMES
    assert "@p239" in text


def test_a_hidden_post_adds_no_link(site: Scenario) -> None:
    public_person("ada")
    topic = open_topic(site)
    post = reply(topic, site.member(), "@ada", at=site.now + SECOND)
    Post.objects.filter(pk=post.pk).update(state=Post.State.DELETED)
    assert 'class="mention"' not in show(site, topic)


@pytest.mark.parametrize(
    ("html", "linked"),
    [
        ('<p title="a > @ada">@ada</p>', '<p title="a > @ada">[@ada]</p>'),
        ("<pre><code>@ada</code> @ada</pre>@ada", "<pre><code>@ada</code> @ada</pre>[@ada]"),
        ("</code>@ada", "</code>[@ada]"),
        ("@adam x@ada /@ada @ada.", "@adam x@ada /@ada [@ada]."),
    ],
)
def test_tags_and_neighbours_are_left_alone(html: str, linked: str) -> None:
    shown = link_mentions(html, {"@ada": "/ada/"}).replace('<a class="mention" href="/ada/">', "[").replace("</a>", "]")
    assert shown == linked


def test_formulas_mention_nobody_and_amounts_of_dollars_are_no_formulas() -> None:
    assert not len(mentions("$@ada$ and $$\n@ada\n$$"))
    assert mentions("It costs $5, @ada, and $6.").people == {"ada"}
