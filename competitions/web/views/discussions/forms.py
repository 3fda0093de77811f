"""Forms of the discussion. They check the types of values; services decide which are allowed."""

import uuid

from django import forms

from competitions.catalog.form_fields.images import ImageUploadField
from competitions.discussions.models import MAX_POST, MAX_REASON, MAX_TITLE
from competitions.discussions.reading import FILTERS


class ListForm(forms.Form):
    """Filters of the list of topics, from its address."""

    q = forms.CharField(required=False, max_length=100, label="Search")
    show = forms.ChoiceField(required=False, label="Show", choices=list(FILTERS.items()))
    before = forms.CharField(required=False, max_length=60)


class PlaceForm(forms.Form):
    """The place in a topic, from its address."""

    at = forms.IntegerField(required=False, min_value=1, max_value=2**63 - 1)
    until = forms.IntegerField(required=False, min_value=1, max_value=2**63 - 1)


class ReplyForm(forms.Form):
    """A text. `key` makes a form that is sent twice one post."""

    text = forms.CharField(
        required=False,
        strip=False,
        label="Text",
        widget=forms.Textarea(attrs={"rows": 10, "maxlength": MAX_POST}),
    )
    image = ImageUploadField(required=False, label="Image")
    key = forms.UUIDField(required=False, widget=forms.HiddenInput)
    version = forms.IntegerField(required=False, min_value=1, max_value=2**31 - 1, widget=forms.HiddenInput)
    confirm_numbers = forms.BooleanField(required=False)
    action = forms.ChoiceField(required=False, choices=[(name, name) for name in ("post", "preview", "image")])

    @property
    def form_key(self) -> uuid.UUID:
        """The key of this form as it is shown: that which was sent, else a new one."""
        sent = self.cleaned_data.get("key") if self.is_bound and self.is_valid() else None
        return sent or uuid.uuid4()


class TopicForm(ReplyForm):
    """A text with a title."""

    title = forms.CharField(
        required=False, strip=False, label="Title", widget=forms.TextInput(attrs={"maxlength": MAX_TITLE})
    )
    field_order = ["title", "text"]


class ReasonForm(forms.Form):
    """A reason that somebody reads."""

    text = forms.CharField(
        required=False,
        label="What is wrong with it?",
        widget=forms.Textarea(attrs={"rows": 3, "maxlength": MAX_REASON}),
    )


class SolutionForm(forms.Form):
    """The reply that solves a topic; without one, none does."""

    reply = forms.IntegerField(required=False, min_value=1, max_value=2**63 - 1)


class FollowForm(forms.Form):
    """Follow, or follow no longer."""

    follow = forms.ChoiceField(choices=[("yes", "yes"), ("no", "no")])
