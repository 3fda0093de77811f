"""Public profiles: what a person shows of themselves, switched on and off, reported and hidden."""

from datetime import datetime, timedelta
from typing import Any, Final

from django import forms
from django.conf import settings
from django.db import transaction
from django.dispatch import Signal

from accounts.attempts import Counter, Limit
from accounts.models import MAX_REPORT, Profile, ProfileReport, User
from core.refusals import RefusalKind

REPORTS_A_DAY: Final = 20  # of one person
CHANGES: Final = Limit(30, 3600)  # of one person: each switch draws the boards anew that name them

TOO_MANY_CHANGES: Final = RefusalKind(
    429, "too_many_changes", "You have saved your profile {limit} times within an hour. Try again later."
)

PROFILE_HIDDEN: Final = RefusalKind(
    409, "profile_hidden", "An administrator has hidden your profile. Write to them before you show it again."
)

OWN_PROFILE: Final = RefusalKind(409, "own_profile", "This is your own profile: edit it, or switch it off.")
REPORT_WITHOUT_TEXT: Final = RefusalKind(
    422, "report_without_text", f"Say what is wrong with it, in at most {MAX_REPORT} characters."
)
TOO_MANY_PROFILE_REPORTS: Final = RefusalKind(
    429,
    "too_many_profile_reports",
    "You have reported {limit} profiles within a day, which is the limit.",
    tells=("limit",),
)

# Sent with `user` inside the transaction by which their name leads to a page or no longer does: no page may go on naming them.
profile_switched = Signal()


class ProfileForm(forms.ModelForm[Profile]):
    """The public profile, all of it optional."""

    class Meta:
        model = Profile
        fields = [
            "is_public", "name", "about", "orcid", "github", "website", "shows_competitions", "shows_ranks", "shows_teams",
            "is_indexed",
        ]  # fmt: skip
        widgets = {"about": forms.Textarea(attrs={"rows": 5})}

    def __init__(self, data: Any = None, **kwargs: Any) -> None:
        """Take an ORCID iD or a GitHub name also as the address of its page."""
        if data is not None:
            data = data.copy()
            data["orcid"] = _last_part(data.get("orcid", ""), "orcid.org")
            data["github"] = _last_part(data.get("github", ""), "github.com")
        super().__init__(data, **kwargs)

    def clean_name(self) -> str:
        """Raises `ValidationError` for a name that would be taken for somebody of the site."""
        name: str = self.cleaned_data["name"]
        require_own_name(name)
        return name

    def clean(self) -> dict[str, object]:
        """A profile that nobody sees is listed nowhere."""
        values = super().clean() or self.cleaned_data
        values["is_indexed"] = bool(values.get("is_indexed") and values.get("is_public"))
        return values


def is_name_of_site(name: str) -> bool:
    """Say if a name, of a person or a team, would be taken for the site's own people."""
    return " ".join(name.casefold().split()) in settings.ACCOUNT_USERNAME_BLACKLIST


def require_own_name(name: str) -> None:
    """Raise `ValidationError` for a name that would be taken for somebody of the site."""
    if is_name_of_site(name):
        raise forms.ValidationError("This name would be taken for the site's own people. Choose another.")


def _last_part(text: str, host: str) -> str:
    """The last part of an address of this host; any other text as it is, without blanks around it."""
    text = text.strip()
    for beginning in (f"https://{host}/", f"http://{host}/", f"https://www.{host}/", f"{host}/", "@"):
        if text.lower().startswith(beginning):
            return text[len(beginning) :].strip("/")
    return text


def profile_for(user: User) -> Profile:
    """The person's profile, or one that shows nothing and is not stored yet."""
    return Profile.objects.filter(user=user).first() or Profile(user=user)


def profile_save(*, form: ProfileForm) -> Profile:
    """Store the profile of a valid form. Raises `TOO_MANY_CHANGES`."""
    profile = form.instance
    if Counter(f"profile {profile.user_id}", CHANGES).add(1) > CHANGES.amount:
        raise TOO_MANY_CHANGES(limit=CHANGES.amount)
    with transaction.atomic():
        User.objects.select_for_update(no_key=True).get(pk=profile.user_id)  # two forms at once make one profile
        stored = Profile.objects.filter(user=profile.user_id).first()
        if stored is not None and stored.hidden_at is not None:
            if profile.is_public:
                raise PROFILE_HIDDEN()
            profile.hidden_at = stored.hidden_at
        if stored is not None:
            profile.pk = stored.pk
        profile.save(force_insert=stored is None, force_update=stored is not None)
        if profile.is_public != (stored is not None and stored.is_public):
            profile_switched.send(sender=Profile, user=profile.user)
    return profile


def public_profile(username: str) -> Profile | None:
    """The profile that everybody may see under this user name; None for all others alike."""
    rows = Profile.objects.select_related("user")
    return rows.filter(user__username=username, is_public=True, user__is_active=True, user__is_robot=False).first()


@transaction.atomic
def profile_report(*, profile: Profile, by: User, text: str, now: datetime) -> bool:
    """Report a profile to the administrators; False for a second report by the same person.

    Raises `OWN_PROFILE`, `REPORT_WITHOUT_TEXT` or `TOO_MANY_PROFILE_REPORTS`.
    """
    text = text.replace("\0", "").strip()
    if profile.user_id == by.pk:
        raise OWN_PROFILE()
    if not text or len(text) > MAX_REPORT:
        raise REPORT_WITHOUT_TEXT()
    User.objects.select_for_update(no_key=True).get(pk=by.pk)  # reports are counted
    if ProfileReport.objects.filter(reporter=by, created_at__gt=now - timedelta(days=1)).count() >= REPORTS_A_DAY:
        raise TOO_MANY_PROFILE_REPORTS(limit=REPORTS_A_DAY)
    defaults = {"text": text, "created_at": now}
    return ProfileReport.objects.get_or_create(profile=profile, reporter=by, defaults=defaults)[1]


@transaction.atomic
def profile_reports_dismiss(*, profile: Profile, by: User, now: datetime) -> int:
    """Settle the reports of a profile that stays as it is; returns how many."""
    return ProfileReport.objects.filter(profile=profile, settled_at=None).update(settled_at=now, settled_by=by)


@transaction.atomic
def profile_hide(*, profile: Profile, by: User, now: datetime) -> None:
    """Switch a profile off, so that its person cannot show it again, and settle its reports."""
    profile = Profile.objects.select_for_update(of=("self",)).select_related("user").get(pk=profile.pk)
    profile_reports_dismiss(profile=profile, by=by, now=now)
    was_public = profile.is_public
    profile.is_public, profile.is_indexed, profile.hidden_at = False, False, profile.hidden_at or now
    profile.save(update_fields=["is_public", "is_indexed", "hidden_at"])
    if was_public:
        profile_switched.send(sender=Profile, user=profile.user)


def profile_release(*, profile: Profile) -> bool:
    """Let a person show their profile again, by their own choice; False for one that was not hidden."""
    return bool(Profile.objects.filter(pk=profile.pk, hidden_at__isnull=False).update(hidden_at=None))
