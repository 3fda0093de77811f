"""The public page of a person who switched it on, and the data that the site has of whoever asks."""

from allauth.account.decorators import reauthentication_required
from django import forms
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.models import MAX_REPORT
from accounts.people.blocks import block, blocked_numbers, blocked_people, unblock
from accounts.people.profiles import profile_report, public_profile
from accounts.views import open_page, person, posted
from competitions.people.deleting import WAITING_TIME, deletion_ask, deletion_withdraw, obstacles
from competitions.people.exports import KEPT, export_begin
from competitions.people.models import AccountDeletion, DataExport
from competitions.people.public import public_record
from competitions.resources.downloads import stored_response
from competitions.web.forms import cleaned
from competitions.web.refusals import came_from


class ProfileReportForm(forms.Form):
    """A note to the administrators."""

    text = forms.CharField(
        required=False,
        label="What is wrong with it?",
        widget=forms.Textarea(attrs={"rows": 3, "maxlength": MAX_REPORT}),
    )


class BlockForm(forms.Form):
    """Block, or no longer."""

    block = forms.ChoiceField(choices=[("yes", "yes"), ("no", "no")])


@open_page
def profile_page(request: HttpRequest, username: str) -> HttpResponse:
    """A profile; one that is off, and that of nobody, do not exist alike."""
    profile = public_profile(username)
    if profile is None:
        raise Http404
    context = {
        "profile": profile,
        "record": public_record(profile, timezone.now()),
        "is_blocked": profile.user_id in blocked_numbers(request.user.pk),
    }
    response = render(request, "web/people/profile.html", context)
    if not profile.is_indexed:
        response.headers["X-Robots-Tag"] = "noindex"
    return response


@require_http_methods(["GET", "HEAD", "POST"])
def profile_report_page(request: HttpRequest, username: str) -> HttpResponse:
    """Report a public profile to the administrators."""
    profile = public_profile(username)
    if profile is None:
        raise Http404
    form = ProfileReportForm(posted(request))
    if request.method == "POST":
        text = cleaned(form)["text"]
        is_new = profile_report(profile=profile, by=person(request), text=text, now=timezone.now())
        messages.success(request, "The administrators look at it." if is_new else "You have reported it already.")
        return redirect("web:person", username)
    return render(request, "web/people/report.html", {"profile": profile, "form": form})


@require_safe
def blocks(request: HttpRequest) -> HttpResponse:
    """The people whom this person blocks."""
    return render(request, "web/people/blocks.html", {"blocks": blocked_people(person(request).pk)})


@require_POST
def block_set(request: HttpRequest, username: str) -> HttpResponse:
    """Block a person, or hear from them again; back to the page of this site where the button was."""
    by, is_blocked = person(request), cleaned(BlockForm(request.POST))["block"] == "yes"
    if is_blocked:
        other = block(by=by, username=username, now=timezone.now())
        messages.success(request, f"You have blocked {other}, who is not told. Their posts are folded.")
    elif unblock(by=by, username=username):
        messages.success(request, f"{username} is no longer blocked.")
    return redirect(came_from(request) or "web:blocks")


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


@require_http_methods(["GET", "HEAD", "POST"])
@reauthentication_required(enabled=lambda request: request.method == "POST")  # type: ignore[untyped-decorator]  # allauth has no types
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
