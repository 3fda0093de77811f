"""Forms for several organizers at once: who saves second sees what changed, and nothing is lost."""

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, TypeVar, cast

from django import forms
from django.db.models import Model
from django.http import QueryDict

from core.confirmations import state_digest

Row = TypeVar("Row", bound=Model)


class EditForm(forms.ModelForm[Row]):
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
        except ValueError:
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
