"""The public page of a person who switched it on, and the data that the site has of whoever asks."""

from allauth.account.decorators import reauthentication_required
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.profiles import public_profile
from accounts.views import person
from competitions.people.deleting import WAITING_TIME, deletion_ask, deletion_withdraw, obstacles
from competitions.people.exports import KEPT, export_begin
from competitions.people.models import AccountDeletion, DataExport
from competitions.people.public import public_record
from competitions.resources.downloads import stored_response


@login_not_required
@require_safe
def profile_page(request: HttpRequest, username: str) -> HttpResponse:
    """A profile; one that is off, and that of nobody, do not exist alike."""
    profile = public_profile(username)
    if profile is None:
        raise Http404
    context = {"profile": profile, "record": public_record(profile, timezone.now())}
    response = render(request, "web/people/profile.html", context)
    if not profile.is_indexed:
        response.headers["X-Robots-Tag"] = "noindex"
    return response


@require_safe
def data(request: HttpRequest) -> HttpResponse:
    """The data of this person as a file: ask for it, wait, download it."""
    export = DataExport.objects.filter(user=person(request)).first()
    expires_at = export.changed_at + KEPT if export is not None else None
    return render(request, "web/people/data.html", {"export": export, "expires_at": expires_at})


@require_POST
def data_ask(request: HttpRequest) -> HttpResponse:
    """Have one's data written."""
    export_begin(user=person(request), now=timezone.now())
    return redirect("web:own-data")


@require_safe
def data_file(request: HttpRequest, pk: int) -> HttpResponseBase:
    """The zip, for its person alone."""
    rows = DataExport.objects.select_related("file")
    export = get_object_or_404(rows, pk=pk, user=person(request), file__isnull=False)
    assert export.file is not None, "asked for above"
    return stored_response(request, export.file, file_name="my-data.zip")


def _changes_something(request: HttpRequest) -> bool:
    return request.method == "POST"


@require_http_methods(["GET", "HEAD", "POST"])
@reauthentication_required(enabled=_changes_something)  # type: ignore[untyped-decorator]  # allauth has no types
def delete(request: HttpRequest) -> HttpResponse:
    """Ask to have one's account deleted, with the password or second factor entered just now."""
    user = person(request)
    if request.method == "POST":
        deletion_ask(user=user, now=timezone.now())
        return redirect("web:account-delete")
    deletion = AccountDeletion.objects.filter(user=user).first()
    context = {"deletion": deletion, "obstacles": obstacles(user), "days": WAITING_TIME.days}
    return render(request, "web/people/delete.html", context)


@require_POST
def delete_withdraw(request: HttpRequest) -> HttpResponse:
    """Keep the account after all."""
    if deletion_withdraw(user=person(request)):
        messages.success(request, "Your account stays.")
    return redirect("web:account-delete")
