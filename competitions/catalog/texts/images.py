"""A competition's images: uploads are re-encoded in the background, and only the results are shown."""

from datetime import datetime
from typing import Final

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet, Sum

from competitions.catalog.models import Competition, ImageUpload, PageImage
from competitions.resources.images import encode_image
from competitions.resources.models import StoredFile
from core.background import jobs
from core.background.bounded import Stopped
from core.background.rows import Claim, claims
from core.refusals import RefusalKind
from files.markup.sanitizing import SMALL_WIDTH

log = structlog.get_logger(__name__)
IMAGE_JOB: Final = "image"
SIZES: Final = {  # widths, at most; phones are shown a second image on pages
    ImageUpload.Place.PAGE: {"large": 1600, "small": SMALL_WIDTH, "is_lossless": False},
    ImageUpload.Place.LOGO: {"large": 512, "small": 0, "is_lossless": True},
    ImageUpload.Place.COVER: {"large": 1920, "small": 0, "is_lossless": False},
}
MAX_IMAGES: Final = 200
MAX_TOTAL_BYTES: Final = 200 * 1024**2

IMAGES_FULL: Final = RefusalKind(
    413,
    "images_full",
    f"A competition has at most {MAX_IMAGES} images of {MAX_TOTAL_BYTES // 1024**2} MiB together. Delete some that no page shows.",
)


@transaction.atomic
def image_request(
    *, competition: Competition, place: ImageUpload.Place, file: StoredFile, now: datetime, name: str = ""
) -> None:
    """Re-encode a checked image in the background, then show it in place of one of the same name.

    One that this site encoded before, as in a copy of a competition, is shown at once. Raises `IMAGES_FULL`.
    """
    Competition.objects.select_for_update(no_key=True).get(pk=competition.pk)  # those that come at once take turns
    if place == ImageUpload.Place.PAGE:
        _require_room(competition, file, name)
    if image := _known(place, file):
        _show(competition, place, name, image)
        return
    upload, _ = ImageUpload.objects.update_or_create(
        competition=competition,
        place=place,
        name=name,
        defaults={"file": file, "fault": "", "created_at": now, "attempts": 0, "claim_id": None, "claimed_until": None},
    )
    jobs.send_after_commit(IMAGE_JOB, upload.pk)


def _require_room(competition: Competition, file: StoredFile, name: str) -> None:
    shown, waiting = (
        competition.images.exclude(name=name),
        competition.image_uploads.filter(place=ImageUpload.Place.PAGE).exclude(name=name),
    )
    used = [rows.aggregate(total=Sum("file__size_bytes"))["total"] or 0 for rows in (shown, waiting)]
    if shown.count() + waiting.count() >= MAX_IMAGES or sum(used) + file.size_bytes > MAX_TOTAL_BYTES:
        raise IMAGES_FULL()


def _known(place: ImageUpload.Place, file: StoredFile) -> dict[str, object]:
    """The fields of an image that this site wrote, as its size on record tells; none for any other."""
    twin = PageImage.objects.filter(file=file, width__isnull=False).first() if place == ImageUpload.Place.PAGE else None
    return {} if twin is None else {key: getattr(twin, key) for key in ("file", "small", "width", "height")}


def _show(competition: Competition, place: str, name: str, image: dict[str, object]) -> None:
    if place == ImageUpload.Place.PAGE:
        PageImage.objects.update_or_create(competition=competition, name=name, defaults=image)
    else:  # the field of the competition has the place's name
        setattr(competition, place, image["file"])
        Competition.objects.filter(pk=competition.pk).update(**{place: image["file"]})
    ImageUpload.objects.filter(competition=competition, place=place, name=name).delete()


def waiting_images() -> QuerySet[ImageUpload]:
    """Uploads that wait to be re-encoded, or are being re-encoded."""
    return ImageUpload.objects.filter(fault="")


@claims(waiting_images, "file", "competition")
def image_perform(upload: ImageUpload, claimed: Claim) -> None:
    """Write one image anew and show it, or say why not; nothing when nobody asks for that any more."""
    try:
        fault = jobs.OUR_ERROR if upload.attempts > settings.BACKGROUND_ATTEMPTS else _encode(upload, claimed)
    except Stopped:
        log.info("image_stopped", image=upload.pk)
        return
    if fault:
        claimed.release(fault=fault)


IMAGE: Final = jobs.Job(IMAGE_JOB, waiting=waiting_images, perform=image_perform)


def _encode(upload: ImageUpload, claimed: Claim) -> str:
    """The fault of the image; empty: it is shown now."""
    image, fault = encode_image(upload.file, SIZES[ImageUpload.Place(upload.place)], is_wanted=claimed.renew)
    with transaction.atomic():
        if image and claimed.held.select_for_update().exists():  # else another image took its place meanwhile
            _show(upload.competition, upload.place, upload.name, image)
    return fault


Encoded = tuple[dict[str, object], str]  # the fields of an image to show, or none and its fault


def image_encode(place: ImageUpload.Place, file: StoredFile) -> Encoded:
    """Re-encode an image here, unless this site wrote it. It takes long: call it before a transaction."""
    if image := _known(place, file):
        return image, ""
    return encode_image(file, SIZES[place], is_wanted=lambda: True)


def image_import(
    *,
    competition: Competition,
    place: ImageUpload.Place,
    file: StoredFile,
    encoded: Encoded,
    now: datetime,
    name: str = "",
) -> None:
    """Show an image of a bundle, which `image_encode` has encoded; its bytes are final.

    One that failed is listed in the workspace with the reason. Raises `IMAGES_FULL`.
    """
    image, fault = encoded
    if place == ImageUpload.Place.PAGE:
        _require_room(competition, file, name)
    if image:
        _show(competition, place, name, image)
        return
    defaults = {"file": file, "fault": fault, "created_at": now}
    ImageUpload.objects.update_or_create(competition=competition, place=place, name=name, defaults=defaults)
