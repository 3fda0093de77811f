"""Drafts and uploads that a request names: they belong to the person who asks, or do not exist."""

from collections.abc import Callable
from uuid import UUID

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone

from accounts.views import person
from competitions.organize.models import CompetitionDraft
from competitions.resources.models import Upload
from competitions.resources.uploads import take_upload
from competitions.web.forms import UploadForm, cleaned
from competitions.web.refusals import wants_json
from core.refusals import Refusal, refusal_response


def own_draft(request: HttpRequest, key: UUID) -> CompetitionDraft:
    """The asker's own draft with its files; 404 for others, and once they left its competition."""
    drafts = CompetitionDraft.objects.open_to(person(request)).select_related("owner", "competition", "trial")
    return get_object_or_404(drafts.prefetch_related("files__file"), key=key)


def answer_upload(request: HttpRequest, take: Callable[[Upload], str]) -> HttpResponse:
    """Answer an upload with the address that `take` returns; for scripts as JSON, a refusal, too.

    The page's script names the upload that it sent; without one, the file comes with the form.
    """
    try:
        values = cleaned(UploadForm(request.POST, request.FILES))
        url = take(take_upload(person(request), values["file"], timezone.now(), key=values["upload"]))
    except Refusal as refusal:
        if wants_json(request):
            return refusal_response(refusal)
        raise
    return JsonResponse({"url": url}, status=201) if wants_json(request) else redirect(url)


def upload_named(request: HttpRequest, key: UUID | None) -> Upload:
    """The asker's upload of this key; 404 for any other."""
    return get_object_or_404(Upload.objects.select_related("file"), key=key, user=person(request))
