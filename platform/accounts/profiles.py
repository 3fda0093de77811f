"""Public profiles: what a person shows of themselves, switched on and off."""

from typing import Any, Final

from django import forms
from django.db import transaction
from django.dispatch import Signal

from accounts.attempts import Counter, Limit
from accounts.models import Profile, User
from core.refusals import RefusalKind

CHANGES: Final = Limit(30, 3600)  # of one person: each switch draws the boards anew that name them
NAMES: Final = (  # that would be taken for the site's own people
    "admin", "administrator", "moderator", "organizer", "organizers", "the organizers", "podium", "root", "support", "system",
    "deleted account",
)  # fmt: skip

TOO_MANY_CHANGES: Final = RefusalKind(
    429, "too_many_changes", "You have saved your profile {limit} times within an hour. Try again later."
)

# Sent with `user` after the commit, once their name leads to a page or no longer does.
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
        if " ".join(name.casefold().split()) in NAMES:
            raise forms.ValidationError("This name would be taken for the site's own people. Choose another.")
        return name

    def clean(self) -> dict[str, Any]:
        """A profile that nobody sees is listed nowhere."""
        values = super().clean() or self.cleaned_data
        values["is_indexed"] = bool(values.get("is_indexed") and values.get("is_public"))
        return values


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
        if stored is not None:
            profile.pk = stored.pk
        profile.save(force_insert=stored is None, force_update=stored is not None)
        if profile.is_public != (stored is not None and stored.is_public):
            switch_announce(profile.user)
    return profile


def switch_announce(user: User) -> None:
    """Have pages that name the person drawn anew, after the commit."""
    transaction.on_commit(lambda: profile_switched.send(sender=Profile, user=user))


def public_profile(username: str) -> Profile | None:
    """The profile that everybody may see under this user name; None for all others alike."""
    rows = Profile.objects.select_related("user")
    return rows.filter(user__username=username, is_public=True, user__is_active=True, user__is_robot=False).first()
