"""Organizers' images on pages: uploaded, re-encoded, served by type, shown by name."""

from __future__ import annotations

import io
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from PIL import ExifTags, Image

from competitions.catalog.models import Announcement, Competition, ImageUpload, Page, PageImage
from competitions.catalog.services import rules_publish
from competitions.catalog.texts import images
from competitions.resources.storage import open_stored, store_bytes
from tests.background import run_background
from tests.images import jpeg_head, png_bytes
from tests.permissions import body_text, user_client
from tests.scenario import Scenario

BOMB = png_bytes(announced=(50_000, 20_000))
SVG = b"<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>"


def save(site: Scenario, **changed: Any) -> Any:
    """The pictures of the competition's settings, with these files."""
    url = reverse("organize:settings", args=[site.competition.slug])
    return user_client(site.organizer).post(url, {"section": "pictures"} | changed)


def images_url(site: Scenario) -> str:
    return reverse("organize:images", args=[site.competition.slug])


def add_image(site: Scenario, content: bytes, file_name: str = "A plot.png", name: str = "") -> Any:
    form = {"upload": SimpleUploadedFile(file_name, content), "name": name}
    answer = user_client(site.organizer).post(images_url(site), form)
    run_background()
    return answer


def photo(width: int, height: int) -> bytes:
    """A JPEG that says who made it, lying on its side."""
    exif = Image.Exif()
    exif[ExifTags.Base.Make], exif[ExifTags.Base.Orientation] = "A camera of somebody", 6
    sink = io.BytesIO()
    Image.linear_gradient("L").convert("RGB").resize((width, height)).save(sink, "JPEG", exif=exif)
    return sink.getvalue()


def served(site: Scenario, path: str) -> Any:
    return Client().get(f"/competitions/{site.competition.slug}/{path}")


@pytest.mark.parametrize("content", [png_bytes(), photo(30, 20)], ids=["png", "jpeg"])
def test_an_uploaded_image_is_served_as_an_image_whatever_it_is_called(site: Scenario, content: bytes) -> None:
    assert add_image(site, content, "A plot.html").status_code == 302
    answer = served(site, "images/A%20plot.html")
    assert (answer.status_code, answer["Content-Type"]) == (200, "image/webp")
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert "default-src 'none'" in answer["Content-Security-Policy"]
    body_text(answer)


def test_a_photo_is_written_anew_upright_without_metadata_and_smaller_for_phones(site: Scenario) -> None:
    content = photo(2400, 1800)
    assert b"A camera of somebody" in content
    add_image(site, content, "photo.jpg")
    shown = PageImage.objects.select_related("file", "small").get()
    assert (shown.width, shown.height) == (1600, 2133)
    assert shown.small is not None
    widths = []
    for stored in (shown.file, shown.small):
        with open_stored(stored) as file:
            content = file.read()
        assert b"A camera of somebody" not in content
        widths.append(Image.open(io.BytesIO(content)).width)
    assert widths == [1600, 720]
    Page.objects.create(competition=site.competition, title="One", body="![A photo](photo.jpg)")
    page = body_text(Client().get(reverse("web:overview", args=[site.competition.slug])))
    url = f"/competitions/{site.competition.slug}/images/photo.jpg"
    assert f'width="1600" height="2133" srcset="{url}?size=small 720w, {url} 1600w"' in page
    answer = served(site, "images/photo.jpg?size=small")
    assert int(answer["Content-Length"]) == shown.small.size_bytes
    body_text(answer)


def test_an_image_that_cannot_be_decoded_is_said_and_the_one_before_stays(site: Scenario) -> None:
    add_image(site, png_bytes(9, 9))
    add_image(site, jpeg_head(640, 480))
    page = user_client(site.organizer).get(images_url(site)).content.decode()
    assert "It is damaged" in page
    assert PageImage.objects.get().width == 9
    add_image(site, png_bytes(5, 5))
    assert "It is damaged" not in user_client(site.organizer).get(images_url(site)).content.decode()
    assert PageImage.objects.get().width == 5


@pytest.mark.parametrize(
    ("content", "words"),
    [(BOMB, "has more than 40,000,000 pixels in all"), (SVG, "is not a PNG, JPEG, GIF or WebP image"), (b"", "empty")],
)
def test_what_cannot_be_shown_is_refused_and_nothing_is_stored(site: Scenario, content: bytes, words: str) -> None:
    for answer in (save(site, logo_file=SimpleUploadedFile("logo.png", content)), add_image(site, content)):
        assert answer.status_code == 422
        assert words in answer.content.decode()
    assert not ImageUpload.objects.exists()
    assert Competition.objects.get(pk=site.competition.pk).logo is None


def test_a_name_that_is_given_is_kept_and_another_upload_takes_its_place(site: Scenario) -> None:
    add_image(site, png_bytes(), name="plots/loss.png")
    before = PageImage.objects.get()
    assert before.name == "plots/loss.png"
    add_image(site, png_bytes(5, 5), name="plots/loss.png")
    after = PageImage.objects.get()
    assert (after.pk, after.width) == (before.pk, 5)
    assert add_image(site, png_bytes(), name="../up.png").status_code == 422


def test_a_competition_has_so_much_room_for_images(site: Scenario, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "MAX_IMAGES", 1)
    add_image(site, png_bytes(), name="a.png")
    assert add_image(site, png_bytes(3, 3), name="a.png").status_code == 302  # in its place
    headers = {"Accept": "application/json", "Referer": f"http://testserver{images_url(site)}"}
    form = {"upload": SimpleUploadedFile("b.png", png_bytes())}
    answer = user_client(site.organizer).post(images_url(site), form, headers=headers, follow=True)
    assert "Delete some that no page shows" in answer.content.decode()
    assert PageImage.objects.count() == 1


def test_an_image_is_deleted(site: Scenario) -> None:
    add_image(site, png_bytes(), name="a.png")
    user_client(site.organizer).post(reverse("organize:image-delete", args=[site.competition.slug]), {"name": "a.png"})
    assert not PageImage.objects.exists()


def test_every_text_of_the_competition_shows_it_by_its_name(site: Scenario) -> None:
    PageImage.objects.create(competition=site.competition, name="plot.png", file=store_bytes(png_bytes()))
    url, text = f'src="/competitions/{site.competition.slug}/images/plot.png"', "![A plot](plot.png)"
    Page.objects.create(competition=site.competition, title="One", body=text)
    Page.objects.create(competition=site.competition, title="Two", body="<img src=./plot.png>", format="html")
    Page.objects.create(competition=site.competition, title="Data", body=text, tab="data")
    Announcement.objects.create(competition=site.competition, title="New", body=text, published_at=site.now)
    rules_publish(competition=site.competition, text=text, now=site.now)
    shown = {
        name: body_text(Client().get(reverse(f"web:{name}", args=[site.competition.slug]))).count(url)
        for name in ("overview", "data", "rules")
    }
    assert shown == {"overview": 3, "data": 1, "rules": 1}


def test_the_images_of_a_draft_are_for_its_organizers(site: Scenario) -> None:
    PageImage.objects.create(competition=site.competition, name="plot.png", file=store_bytes(png_bytes()))
    Competition.objects.filter(pk=site.competition.pk).update(is_published=False, logo=store_bytes(png_bytes()))
    for name, arguments in (("image", ["plot.png"]), ("logo", [])):
        url = reverse(f"web:{name}", args=[site.competition.slug, *arguments])
        assert Client().get(url).status_code == 404
        answer = user_client(site.organizer).get(url)
        assert answer["Cache-Control"] == "private, max-age=3600"
        body_text(answer)


def test_a_stored_file_that_is_no_image_is_not_served_as_one(site: Scenario) -> None:
    PageImage.objects.create(competition=site.competition, name="x.svg", file=store_bytes(SVG))
    Competition.objects.filter(pk=site.competition.pk).update(logo=store_bytes(SVG))
    for path in ("images/x.svg", "logo/", "images/none.png"):
        assert Client().get(f"/competitions/{site.competition.slug}/{path}").status_code == 404


def test_a_logo_is_uploaded_kept_replaced_and_cleared(site: Scenario) -> None:
    def logo() -> str | None:
        return Competition.objects.get(pk=site.competition.pk).logo_id

    save(site, logo_file=SimpleUploadedFile("logo.png", png_bytes(4, 2)))
    run_background()
    first = logo()
    assert first is not None
    assert body_text(Client().get(f"/competitions/{site.competition.slug}/logo/"))
    assert save(site).status_code == 302
    assert logo() == first
    save(site, logo_file=SimpleUploadedFile("logo.png", png_bytes(4, 4)))
    run_background()
    assert logo() not in (None, first)
    save(site, **{"logo_file-clear": "on"})
    assert logo() is None


def test_organizers_are_told_of_images_that_a_page_cannot_show(site: Scenario) -> None:
    Page.objects.create(competition=site.competition, title="One", body="![a](a.png) ![b](https://else.where/b.png)")
    reason = "is not among the competition&#x27;s images"
    overview = reverse("web:overview", args=[site.competition.slug])
    assert f"The image a.png is not shown: it {reason}" in user_client(site.organizer).get(overview).content.decode()
    assert reason not in user_client(site.member()).get(overview).content.decode()
    PageImage.objects.create(competition=site.competition, name="a.png", file=store_bytes(png_bytes()))
    assert (
        "The image https://else.where/b.png is not shown" in user_client(site.organizer).get(overview).content.decode()
    )


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
