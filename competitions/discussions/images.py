"""Images in posts: written anew as those of pages are, and shown to those who see the post."""

import re
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db.models import Q, QuerySet

from accounts.models import User
from competitions.catalog.models import Competition
from competitions.discussions.models import Post, PostImage
from competitions.discussions.refusals import TOO_MANY_IMAGES
from competitions.resources.images import encode_image
from competitions.resources.models import StoredFile
from core.background import jobs
from core.background.bounded import Stopped
from core.background.rows import Claim, claims
from files.markup.sanitizing import SMALL_WIDTH

JOB: Final = "post-image"
SIZES: Final = {"large": 1600, "small": SMALL_WIDTH, "is_lossless": False}
IMAGES_A_DAY: Final = 20  # of one person
LEFT_AFTER: Final = timedelta(days=2)  # an image that no post shows goes
ATTACHED: Final = re.compile(r"attached/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})")


def attached_key(source: str) -> UUID | None:
    """The key of an image that a post names as `attached/…`; None for any other address."""
    match = ATTACHED.fullmatch(source.strip())
    return UUID(match[1]) if match else None


def image_add(*, competition: Competition, author: User, file: StoredFile, now: datetime) -> PostImage:
    """Have an image written anew, to be shown in a post. Call under the writer's lock.

    Raises `TOO_MANY_IMAGES`.
    """
    recent = PostImage.objects.filter(author=author, created_at__gt=now - timedelta(days=1)).count()
    if recent >= IMAGES_A_DAY:
        raise TOO_MANY_IMAGES(limit=IMAGES_A_DAY)
    image = PostImage.objects.create(competition=competition, author=author, source=file, created_at=now)
    jobs.send_after_commit(JOB, image.pk)
    return image


def images_attach(post: Post) -> None:
    """Tie images to the first post of their author that shows them."""
    keys = [UUID(key) for key in ATTACHED.findall(post.body)[:IMAGES_A_DAY]]
    if keys:
        PostImage.objects.filter(
            key__in=keys, author=post.author, competition=post.topic.competition_id, post=None
        ).update(post=post)


def waiting_images() -> QuerySet[PostImage]:
    """Uploads that wait to be re-encoded."""
    return PostImage.objects.filter(file=None, fault="")


@claims(waiting_images, "source")
def image_perform(image: PostImage, claimed: Claim) -> None:
    """Write one image anew, or say why not; nothing when nobody asks for that any more."""
    if image.attempts > settings.BACKGROUND_ATTEMPTS or image.source is None:
        claimed.release(fault=jobs.OUR_ERROR)
        return
    try:
        fields, fault = encode_image(image.source, SIZES, is_wanted=claimed.renew)
    except Stopped:
        return
    claimed.release(**(fields or {"fault": fault}), source=None)  # what was sent is kept no longer


IMAGE: Final = jobs.Job(JOB, waiting=waiting_images, perform=image_perform)


def images_expire(*, now: datetime) -> int:
    """For the reconciler: forget images that no post shows; returns how many."""
    return PostImage.objects.filter(Q(post=None), created_at__lte=now - LEFT_AFTER).delete()[0]
