"""Forms whose changes concern teams: two organizers at once learn of each other, and what a change does is said before it is saved."""

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar

from django import forms
from django.db.models import Model
from django.forms.models import model_to_dict
from django.http import QueryDict

from competitions.catalog.models import Competition

SEEN, CONFIRMED = "seen", "confirmed"


class ChangeForm(forms.ModelForm[Any]):
    """A form of one row. `submit` saves it only where nobody changed the row since the form was shown.

    What saving does to teams (`consequences`) is shown first, and saved once exactly that was confirmed. Call `submit` in a
    transaction, with an instance that is locked.
    """

    seen = forms.CharField(required=False, widget=forms.HiddenInput)
    groups: ClassVar[tuple[tuple[str, tuple[str, ...]], ...]] = ()

    def __init__(
        self, competition: Competition, data: QueryDict | None = None, *, instance: Any = None, **options: Any
    ) -> None:
        self.competition = competition
        super().__init__(data, instance=instance, **options)
        self._row = model_to_dict(self.instance, fields=self._meta.fields) if self.instance.pk else {}
        self._stored = {name: digest_of(value) for name, value in self.stored_values().items()}
        self.fields[SEEN].initial = json.dumps(self._stored)
        self.conflicts: list[str] = []
        self.impact: list[str] = []

    def stored_values(self) -> dict[str, Any]:
        """What the stored row says, by field, as far as this form changes it."""
        return self._row

    def consequences(self, now: datetime) -> list[str]:
        """Sentences on what saving would do to teams."""
        return []

    def write(self, now: datetime) -> Model:
        """Save what was entered."""
        saved: Model = self.save()
        return saved

    def submit(self, now: datetime) -> Model | None:
        """Save, or None: then errors, `conflicts` or `impact` say why, and the form asks again."""
        if not self.is_valid() or self._find_conflicts():
            return None
        if sentences := self.consequences(now):
            self.impact = sentences
            if self.data.get(CONFIRMED) != self.confirmation:
                return None
        return self.write(now)

    @property
    def is_refused(self) -> bool:
        """Something that was entered is wrong."""
        return bool(self.errors)

    @property
    def confirmation(self) -> str:
        """What the button to save all the same sends: these consequences, for the row as it is now."""
        return digest_of([self.impact, sorted(self._stored.items())])

    def _find_conflicts(self) -> bool:
        """Whether somebody changed the row meanwhile. The form then shows the new values of what the person left alone."""
        seen = _seen(self.data.get(SEEN, ""))
        changed = [name for name, digest in self._stored.items() if seen.get(name) != digest]
        if not changed:
            return False
        data = QueryDict(mutable=True)
        data.update(self.data)
        for name in changed:
            if name in self.fields and digest_of(self.cleaned_data.get(name)) == seen.get(name):
                data.setlist(name, self._as_sent(name))
        data[SEEN] = json.dumps(self._stored)
        self.data = data
        self.conflicts = [self.label_of(name) for name in changed]
        return True

    def label_of(self, name: str) -> str:
        """How people call a part of the row."""
        return str(self[name].label) if name in self.fields else name

    def _as_sent(self, name: str) -> list[str]:
        """The stored value as a browser would send it."""
        field, value = self.fields[name], self.stored_values().get(name)
        if isinstance(field, forms.BooleanField):
            return ["on"] if value else []
        prepared = field.prepare_value(value)
        if isinstance(prepared, list | tuple):
            return [str(one) for one in prepared]
        return [str(field.widget.format_value(prepared) or "")]

    @property
    def grouped(self) -> list[tuple[str, list[forms.BoundField]]]:
        """The visible fields under their headings."""
        return [(title, [self[name] for name in names if name in self.fields]) for title, names in self.groups]


def _seen(text: str) -> Mapping[str, str]:
    try:
        found = json.loads(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def digest_of(value: Any) -> str:
    """Changes when the value does, and not by the way in which a form sends it."""
    return hashlib.sha256(repr(_plain(value)).encode()).hexdigest()[:16]


def _plain(value: Any) -> Any:
    """Equal for what a row says and for what its form sends back untouched."""
    if value in (None, "", False) or value == []:
        return ""
    if isinstance(value, datetime):
        return value.replace(second=0, microsecond=0).isoformat()
    if isinstance(value, Model):
        return str(value.pk)
    if isinstance(value, str):
        return value.replace("\r\n", "\n").strip()
    if isinstance(value, Mapping):
        return sorted((key, repr(item)) for key, item in value.items())
    if hasattr(value, "__iter__"):
        return sorted(str(_plain(one)) for one in value)  # a choice of rows has no order
    return str(value)
