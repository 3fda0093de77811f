"""The files that a push may name by their digest: what the person has uploaded, or may read already.

A digest is no secret, receipts show those of hidden labels: who knows one does not have the file.
"""

from collections.abc import Collection

from django.db.models import Q

from accounts.models import User
from competitions.catalog.models import Competition, PageImage, Phase, Solution, Task
from competitions.resources.models import Resource, StoredFile, Upload
from competitions.resources.versions import resources_named_by


def files_held(user: User, digests: Collection[str]) -> dict[str, StoredFile]:
    """Those of these files that the person may have, by digest."""
    managed = Competition.objects.managed_by(user)
    phases = Phase.objects.filter(competition__in=managed)
    used = resources_named_by(Task.objects.readable_by(user)) | resources_named_by(phases)
    used |= resources_named_by(Solution.objects.filter(competition__in=managed))
    resources = Resource.objects.filter(Q(owner=user) | Q(pk__in=used))
    held = Q(pk__in=resources.values("file")) | Q(
        pk__in=Upload.objects.filter(user=user, file__isnull=False).values("file")
    )
    held |= Q(pk__in=managed.values("logo")) | Q(
        pk__in=PageImage.objects.filter(competition__in=managed).values("file")
    )
    return {file.pk: file for file in StoredFile.objects.filter(held, pk__in=digests)}
