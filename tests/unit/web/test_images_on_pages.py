"""Organizers put images on pages: uploaded in the admin, served under their own type, shown by their name."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from competitions.catalog.models import Announcement, Competition, Page, PageImage
from competitions.catalog.services import rules_publish
from competitions.resources.storage import store_bytes
from tests.admin_forms import fields_of
from tests.images import gif_of, jpeg_head, png_of
from tests.permissions import body_of, client_of
from tests.scenario import Scenario

BOMB = png_of(announced=(50_000, 20_000))
SVG = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"


def change_url(site: Scenario) -> str:
    return reverse("admin:catalog_competition_change", args=[site.competition.pk])


def save(site: Scenario, **changed: Any) -> Any:
    """The competition's form as the page offers it, with these fields besides."""
    organizer = client_of(site.organizer)
    return organizer.post(change_url(site), fields_of(organizer.get(change_url(site))) | changed)


def add_image(site: Scenario, content: bytes, file_name: str = "A plot.png", name: str = "") -> Any:
    upload = SimpleUploadedFile(file_name, content)
    return save(site, **{"images-TOTAL_FORMS": "1", "images-0-name": name, "images-0-upload": upload})


@pytest.mark.parametrize(
    ("content", "content_type"), [(png_of(), "image/png"), (gif_of(3, 3), "image/gif"), (jpeg_head(3, 3), "image/jpeg")]
)
def test_an_uploaded_image_is_served_as_what_it_is_whatever_it_is_called(
    site: Scenario, content: bytes, content_type: str
) -> None:
    assert add_image(site, content, "A plot.html").status_code == 302
    answer = Client().get(f"/competitions/{site.competition.slug}/images/A%20plot.html")
    assert (answer.status_code, answer["Content-Type"]) == (200, content_type)
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert "default-src 'none'" in answer["Content-Security-Policy"]
    body_of(answer)


@pytest.mark.parametrize(
    ("content", "words"),
    [(BOMB, "50,000 by 20,000 pixels"), (SVG, "is no PNG, JPEG, GIF or WebP image"), (b"", "empty")],
)
def test_what_cannot_be_shown_is_refused_and_nothing_is_stored(site: Scenario, content: bytes, words: str) -> None:
    for answer in (add_image(site, content), save(site, new_logo=SimpleUploadedFile("logo.png", content))):
        assert answer.status_code == 200
        assert words in answer.content.decode()
    assert not PageImage.objects.exists()
    assert Competition.objects.get(pk=site.competition.pk).logo is None


def test_a_name_that_is_given_is_kept_and_given_once(site: Scenario) -> None:
    add_image(site, png_of(), name="plots/loss.png")
    assert PageImage.objects.get().name == "plots/loss.png"
    twice = {
        "images-TOTAL_FORMS": "2", "images-1-name": "plots/loss.png", "images-1-upload": SimpleUploadedFile("x.png", png_of()),
    }  # fmt: skip
    assert save(site, **twice).status_code == 200
    assert "images-0-name" in fields_of(client_of(site.organizer).get(change_url(site)))
    assert PageImage.objects.count() == 1
    assert add_image(site, png_of(), name="../up.png").status_code == 200


def test_another_upload_takes_the_place_of_an_image(site: Scenario) -> None:
    add_image(site, png_of())
    before = PageImage.objects.get()
    assert save(site, **{"images-0-upload": SimpleUploadedFile("new.png", png_of(5, 5))}).status_code == 302
    after = PageImage.objects.get()
    assert (after.pk, after.name) == (before.pk, "A plot.png")
    assert after.file_id != before.file_id


def test_every_text_of_the_competition_shows_it_by_its_name(site: Scenario) -> None:
    PageImage.objects.create(competition=site.competition, name="plot.png", file=store_bytes(png_of()))
    url, text = f'src="/competitions/{site.competition.slug}/images/plot.png"', "![A plot](plot.png)"
    Page.objects.create(competition=site.competition, title="One", body=text)
    Page.objects.create(competition=site.competition, title="Two", body="<img src=./plot.png>", format="html")
    Page.objects.create(competition=site.competition, title="Data", body=text, tab="data")
    Announcement.objects.create(competition=site.competition, title="New", body=text, published_at=site.now)
    rules_publish(competition=site.competition, text=text, now=site.now)
    shown = {
        name: body_of(Client().get(reverse(f"web:{name}", args=[site.competition.slug]))).count(url)
        for name in ("overview", "data", "rules")
    }
    assert shown == {"overview": 3, "data": 1, "rules": 1}


def test_the_images_of_a_draft_are_for_its_organizers(site: Scenario) -> None:
    PageImage.objects.create(competition=site.competition, name="plot.png", file=store_bytes(png_of()))
    Competition.objects.filter(pk=site.competition.pk).update(is_published=False, logo=store_bytes(png_of()))
    for name, arguments in (("image", ["plot.png"]), ("logo", [])):
        url = reverse(f"web:{name}", args=[site.competition.slug, *arguments])
        assert Client().get(url).status_code == 404
        answer = client_of(site.organizer).get(url)
        assert answer["Cache-Control"] == "private, max-age=3600"
        body_of(answer)


def test_a_stored_file_that_is_no_image_is_not_served_as_one(site: Scenario) -> None:
    PageImage.objects.create(competition=site.competition, name="x.svg", file=store_bytes(SVG))
    Competition.objects.filter(pk=site.competition.pk).update(logo=store_bytes(SVG))
    for path in ("images/x.svg", "logo/", "images/none.png"):
        assert Client().get(f"/competitions/{site.competition.slug}/{path}").status_code == 404


def test_a_logo_is_uploaded_kept_replaced_and_cleared(site: Scenario) -> None:
    def logo() -> str | None:
        return Competition.objects.get(pk=site.competition.pk).logo_id

    save(site, new_logo=SimpleUploadedFile("logo.png", png_of(4, 2)))
    first = logo()
    assert first is not None
    assert body_of(Client().get(f"/competitions/{site.competition.slug}/logo/"))
    assert save(site, subtitle="New").status_code == 302
    assert logo() == first
    save(site, new_logo=SimpleUploadedFile("logo.png", png_of(4, 4)))
    assert logo() not in (None, first)
    save(site, **{"new_logo-clear": "on"})
    assert logo() is None


def test_organizers_are_told_of_images_that_a_page_cannot_show(site: Scenario) -> None:
    Page.objects.create(competition=site.competition, title="One", body="![a](a.png) ![b](https://else.where/b.png)")
    told = "is not among the competition&#x27;s images"
    overview = reverse("web:overview", args=[site.competition.slug])
    assert f"The image a.png is not shown: it {told}" in client_of(site.organizer).get(overview).content.decode()
    assert told not in client_of(site.member()).get(overview).content.decode()
    PageImage.objects.create(competition=site.competition, name="a.png", file=store_bytes(png_of()))
    assert "The image https://else.where/b.png is not shown" in client_of(site.organizer).get(overview).content.decode()


def test_prize_and_contact_stand_on_the_pages_of_the_competition(site: Scenario) -> None:
    mail = 'href="mailto:who@example.org"'
    pages = {
        name: reverse(f"web:{name}", args=[site.competition.slug])
        for name in ("overview", "rules", "leaderboard", "data")
    }
    before = "".join(Client().get(url).content.decode() for url in [*pages.values(), "/"])
    assert "Prize" not in before
    assert "mailto" not in before
    Competition.objects.filter(pk=site.competition.pk).update(reward="A <b>mug</b>", contact_email="who@example.org")
    shown = {name: Client().get(url).content.decode() for name, url in (pages | {"index": "/"}).items()}
    assert all("A &lt;b&gt;mug&lt;/b&gt;" in page for page in shown.values())
    assert [name for name, page in shown.items() if mail in page] == ["overview", "rules"]
