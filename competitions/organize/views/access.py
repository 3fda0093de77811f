"""Who may see which draft: its owner, and nobody else."""

from uuid import UUID

from django.http import HttpRequest
from django.shortcuts import get_object_or_404

from competitions.organize.models import CompetitionDraft
from competitions.web.views.teams import person


def draft_of(request: HttpRequest, key: UUID) -> CompetitionDraft:
    """The asker's own draft with its files. That of somebody else does not exist: 404."""
    drafts = CompetitionDraft.objects.filter(owner=person(request)).select_related("owner", "competition", "trial")
    return get_object_or_404(drafts.prefetch_related("files__file"), key=key)
