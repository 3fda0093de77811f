"""The tag `url` answers as Django's own, whatever it is given."""

from __future__ import annotations

import uuid

import pytest
from django.template import Context, Template
from django.urls import NoReverseMatch, reverse, set_script_prefix

from core.addresses import RememberedURLNode

SLUG = "small-competition"


def drawn(source: str, **values: object) -> str:
    return Template(source).render(Context(values))


def test_it_is_the_tag_of_every_template() -> None:
    assert Template("{% url 'web:index' %}").nodelist.get_nodes_by_type(RememberedURLNode)


@pytest.mark.parametrize("times", [1, 2])
def test_addresses_are_those_of_django(times: int) -> None:
    key = uuid.uuid4()
    assert drawn("{% url 'web:overview' slug %}", slug=SLUG) == reverse("web:overview", args=[SLUG])
    assert drawn("{% url name 7 %}", name="web:entry") == reverse("web:entry", args=[7])
    assert drawn("{% url 'api:upload' key %}", key=key) == reverse("api:upload", args=[key])
    assert drawn("{% url 'web:overview' slug=slug %}", slug=SLUG) == reverse("web:overview", args=[SLUG])
    assert drawn("{% url 'web:index' as home %}<{{ home }}>") == f"<{reverse('web:index')}>"


def test_an_address_that_does_not_exist_is_an_error_each_time() -> None:
    for _ in range(2):
        with pytest.raises(NoReverseMatch):
            drawn("{% url 'web:overview' 'no slug' %}")
    assert drawn("{% url 'web:overview' 'no slug' as nothing %}<{{ nothing }}>") == "<>"


def test_where_the_site_hangs_below_its_host_is_part_of_the_address() -> None:
    plain = drawn("{% url 'web:index' %}")
    set_script_prefix("/podium/")
    try:
        assert drawn("{% url 'web:index' %}") == f"/podium{plain}"
    finally:
        set_script_prefix("/")
    assert drawn("{% url 'web:index' %}") == plain
