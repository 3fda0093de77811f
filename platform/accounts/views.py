"""The profile: name, affiliation, and API tokens."""

from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar

from allauth.account.decorators import reauthentication_required
from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_not_required
from django.http import HttpRequest, HttpResponse, HttpResponseBase, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.models import Agent, ApiToken, Scope, User, token_create
from accounts.outbox import mail_person
from accounts.people.profiles import ProfileForm as PublicProfileForm
from accounts.people.profiles import profile_for, profile_save, require_own_name

View = TypeVar("View", bound=Callable[..., HttpResponseBase])
LIFETIMES_DAYS = [(7, "7 days"), (30, "30 days"), (90, "90 days"), (365, "1 year")]


class ProfileForm(forms.ModelForm[User]):
    class Meta:
        model = User
        fields = ["first_name", "last_name", "affiliation"]

    def clean(self) -> dict[str, object]:
        """Refuse a whole name that the public profile refuses, too."""
        values = super().clean() or self.cleaned_data
        require_own_name(f"{values.get('first_name', '')} {values.get('last_name', '')}")
        return values


class TokenForm(forms.Form):
    """A new token; what it may do and for how long is always chosen."""

    name = forms.CharField(max_length=100, help_text="Where it is used, for instance “training cluster”.")
    scopes = forms.MultipleChoiceField(
        choices=Scope.choices,
        widget=forms.CheckboxSelectMultiple,
        initial=[Scope.READ, Scope.SUBMIT, Scope.TEAM],  # what it takes to join a competition and take part
        label="Permissions",
    )
    agent_model = forms.CharField(
        max_length=100,
        required=False,
        label="Model, if an agent uses it",
        help_text="An agent decides by itself what it submits. Its submissions are your team's, and marked.",
    )
    agent_harness = forms.CharField(
        max_length=100,
        required=False,
        label="Agent framework",
        help_text="The program that runs the model.",
    )
    days = forms.TypedChoiceField(choices=LIFETIMES_DAYS, coerce=int, initial=90, label="Expires after")

    def clean(self) -> dict[str, object]:
        """Refuse an agent what is a person's, as the token does."""
        values: dict[str, object] = super().clean() or {}
        declared = {name: values.get(name, "") for name in ("agent_model", "agent_harness")}
        ApiToken(scopes=values.get("scopes", []), **declared).clean()
        return values


def person(request: HttpRequest) -> User:
    assert isinstance(request.user, User), "only views marked `login_not_required` have visitors"
    return request.user


def posted(request: HttpRequest) -> QueryDict | None:
    """The values of a form that was sent, even without any, so that its faults are shown; else None."""
    return request.POST if request.method == "POST" else None


def open_page(view: View) -> View:
    """Mark a view that everybody may read: without signing in, by GET and HEAD alone."""
    return login_not_required(require_safe(view))


@require_http_methods(["GET", "HEAD", "POST"])
def profile(request: HttpRequest) -> HttpResponse:
    form = ProfileForm(posted(request), instance=person(request))
    if request.method == "POST" and form.is_valid():
        form.save()
        messages.success(request, "Saved.")
        return redirect("accounts:profile")
    return _page(request, form, TokenForm(), status=422 if form.is_bound else 200)


@require_http_methods(["GET", "HEAD", "POST"])
def public(request: HttpRequest) -> HttpResponse:
    """Choose what everybody sees of oneself; nothing until it is switched on."""
    stored = profile_for(person(request))
    is_on = stored.is_public
    form = PublicProfileForm(posted(request), instance=stored)
    if request.method == "POST" and form.is_valid():
        profile = profile_save(form=form)
        messages.success(
            request, "Saved. Everybody sees your profile." if profile.is_public else "Saved. Nobody sees your profile."
        )
        return redirect("accounts:public")
    status = 422 if form.is_bound else 200
    return render(request, "accounts/public.html", {"form": form, "is_on": is_on}, status=status)


@require_POST
@reauthentication_required(app="allauth.account")  # type: ignore[untyped-decorator]  # allauth has no types
def token_make(request: HttpRequest) -> HttpResponse:
    """Make a token and show it, this once."""
    form = TokenForm(request.POST)
    if not form.is_valid():
        return _page(request, ProfileForm(instance=person(request)), form, status=422)
    token, secret = token_create(
        user=person(request),
        name=form.cleaned_data["name"],
        scopes=form.cleaned_data["scopes"],
        expires_at=timezone.now() + timedelta(days=form.cleaned_data["days"]),
        agent=Agent(model, form.cleaned_data["agent_harness"]) if (model := form.cleaned_data["agent_model"]) else None,
    )
    mail_person(
        to=person(request),
        subject=f"A new API token: {token.name}",
        text=f"The token “{token.name}” was made for your account. If it was not you, revoke it and change your password.",
        path=reverse("accounts:profile"),
    )
    response = _page(request, ProfileForm(instance=person(request)), TokenForm(), secret=secret)
    response.headers["Cache-Control"] = "no-store"
    return response


@require_POST
def token_revoke(request: HttpRequest, pk: int) -> HttpResponse:
    token = get_object_or_404(ApiToken, pk=pk, user=person(request))
    ApiToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=timezone.now())
    messages.success(request, f"The token “{token.name}” no longer works.")
    return redirect("accounts:profile")


def _page(
    request: HttpRequest, form: ProfileForm, token_form: TokenForm, *, secret: str = "", status: int = 200
) -> HttpResponse:
    tokens = person(request).api_tokens.filter(revoked_at=None)
    context = {"form": form, "token_form": token_form, "tokens": tokens, "secret": secret, "now": timezone.now()}
    return render(request, "accounts/profile.html", context, status=status)
