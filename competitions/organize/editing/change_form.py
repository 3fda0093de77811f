"""Forms for several organizers at once, which say what a change does to teams before it is saved."""

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, ClassVar, Final, NamedTuple, cast

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db.models import Model
from django.forms.models import model_to_dict
from django.http import QueryDict

from competitions.catalog.models import Competition
from core.confirmations import NeedsConfirmation, require_confirmation, state_digest
from core.rows import RowT


class EditForm(forms.ModelForm[RowT]):
    """A form that knows the values its reader saw. Give it the row as it is now, read under a lock."""

    seen = forms.CharField(required=False, widget=forms.HiddenInput)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.stored = {name: state_digest(value) for name, value in self.shared_values().items()}
        self.fields["seen"].initial = json.dumps(self.stored)

    def shared_values(self) -> Mapping[str, object]:
        """The values that others may change meanwhile, by field."""
        return {name: self.get_initial_for_field(field, name) for name, field in self.fields.items() if name != "seen"}

    def clean(self) -> dict[str, object]:
        cleaned = super().clean() or self.cleaned_data
        cleaned |= {
            name: at for name, at in self._instants() if at.replace(second=0, microsecond=0) == cleaned.get(name)
        }
        seen = self._seen()
        changed = [name for name, digest in self.stored.items() if seen.get(name, digest) != digest]
        if changed:
            news = ", ".join(dict.fromkeys(self.field_news(name) for name in changed))
            self.take_over([name for name in changed if self.was_left(name, cleaned, seen[name])])
            raise forms.ValidationError(
                f"Somebody else has changed this meanwhile: {news}. Nothing is saved yet. The form shows their values, but what you "
                "entered yourself is still here: check it, then save again.",
                code="changed_meanwhile",
            )
        return cleaned

    def was_left(self, name: str, cleaned: Mapping[str, object], seen: str) -> bool:
        """True where the reader sent a field back as they saw it."""
        return state_digest(cleaned.get(name)) == seen

    def field_news(self, name: str) -> str:
        """A field with the value that it has now, as far as a sentence can say it."""
        value = self.get_initial_for_field(self.fields[name], name)
        text = str(value)[:80] if isinstance(value, str | int | datetime) and not isinstance(value, bool) else ""
        return f"{self[name].label}, now “{text}”" if text else str(self[name].label)

    def _instants(self) -> Iterator[tuple[str, datetime]]:
        """Stored dates, which browsers send back without their seconds."""
        for name in self.fields:
            value = self.initial.get(name)
            if isinstance(value, datetime):
                yield name, value

    def _seen(self) -> dict[str, str]:
        """The digests that came with the form; none where they are not what the page sent."""
        try:
            seen = json.loads(self.cleaned_data.get("seen") or "{}")
        except (ValueError, RecursionError):
            return {}
        return seen if isinstance(seen, dict) else {}

    def take_over(self, names: list[str]) -> None:
        """Show the stored values of fields that the reader left alone, and count them as seen."""
        data = cast("QueryDict", self.data).copy()
        data["seen"] = json.dumps(self.stored)
        for name in names:
            field = self.fields[name]
            data.setlist(name, browser_texts(field, self.get_initial_for_field(field, name)))
        self.data = data


def browser_texts(field: Any, value: Any) -> list[str]:
    """A stored value as a browser would send it from the field."""
    if isinstance(field.widget, forms.CheckboxInput):
        return ["on"] if value else []
    shown = field.widget.format_value(field.prepare_value(value))
    return [str(item) for item in (shown if isinstance(shown, list) else [shown]) if item is not None]


CONFIRMED: Final = "confirmed"


class Group(NamedTuple):
    """Fields under a heading, with a line on what they are about; folded unless it is open."""

    title: str
    fields: list[forms.BoundField]
    about: str
    is_open: bool


class ChangeForm(EditForm[Any]):
    """A form that shows what saving does to teams (`consequences`) and saves once that is confirmed.

    Call `submit` in a transaction, with an instance that is locked. `impact` and `confirmation` are what it asks for.
    """

    groups: ClassVar[tuple[tuple[str, tuple[str, ...]], ...]] = ()
    explained: ClassVar[Mapping[str, str]] = {}  # by heading

    def __init__(self, data: QueryDict | None = None, *, instance: Any = None, **options: Any) -> None:
        self.impact, self.confirmation = list[str](), ""
        self.remarks = list[str]()  # on what was saved
        self.row = model_to_dict(instance, fields=self._meta.fields) if instance is not None and instance.pk else {}
        super().__init__(data, instance=instance, **options)

    def shared_values(self) -> dict[str, object]:
        """The stored values by field; a new row has none that others could change."""
        return self.row

    def consequences(self, now: datetime) -> list[str]:
        """Sentences on what saving would do to teams."""
        return []

    def write(self, now: datetime) -> Model:
        """Save what was entered. May raise `NeedsConfirmation` of its own."""
        saved: Model = self.save()
        return saved

    def submit(self, now: datetime) -> Model | None:
        """Save, or None: then errors or `impact` say why, and the form asks again."""
        if not self.is_valid():
            return None
        try:
            require_confirmation(self.consequences(now), self.stored, self.confirmed)
            return self.write(now)
        except NeedsConfirmation as refusal:
            self.impact, self.confirmation = refusal.impact, refusal.confirmation
        except ValidationError as error:
            self._show(error)
        return None

    def _show(self, error: ValidationError) -> None:
        """Show what the service refused at the fields that are on the page."""
        for name, texts in error.message_dict.items():
            for text in texts:
                self.add_error(name if name in self.fields else None, text)

    @property
    def is_refused(self) -> bool:
        """Something that was entered is wrong, or somebody else changed the same."""
        return bool(self.errors)

    @property
    def is_late(self) -> bool:
        """Somebody else changed the same meanwhile."""
        return self.has_error(NON_FIELD_ERRORS, "changed_meanwhile")

    @property
    def confirmed(self) -> str:
        """The confirmation that its button has sent."""
        return str(self.data.get(CONFIRMED, ""))

    @property
    def open_groups(self) -> set[str]:
        """Headings of the groups that are not folded."""
        return {title for title, _ in self.groups}

    def applies(self, title: str) -> bool:
        """True for a group of settings that have an effect with the other values of the form."""
        return True

    @property
    def grouped(self) -> list[Group]:
        """The visible fields under their headings, of groups that apply."""
        return self._groups(applying=True)

    @property
    def set_aside(self) -> list[Group]:
        """The visible fields of groups that do not apply."""
        return self._groups(applying=False)

    @property
    def shows_set_aside(self) -> bool:
        """True where a group that does not apply has a value of its own, or an error."""
        return any(group.is_open for group in self.set_aside)

    def _groups(self, *, applying: bool) -> list[Group]:
        titles = [(title, names) for title, names in self.groups if self.applies(title) is applying]
        shown = [(title, [self[name] for name in names if name in self.fields]) for title, names in titles]
        is_open = self.open_groups
        return [
            Group(title, fields, self.explained.get(title, ""), title in is_open) for title, fields in shown if fields
        ]


class CompetitionForm(ChangeForm):
    """A change of a competition, or of something in it."""

    def __init__(
        self, competition: Competition, data: QueryDict | None = None, *, instance: Any = None, **options: Any
    ) -> None:
        self.competition = competition
        super().__init__(data, instance=instance, **options)
