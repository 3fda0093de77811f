"""Forms whose changes concern teams: what a change does is said before it is saved."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, ClassVar, Final, NamedTuple

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.db.models import Model
from django.forms.models import model_to_dict
from django.http import QueryDict

from competitions.catalog.models import Competition
from competitions.organize.workspace.editing import EditForm
from core.confirmations import NeedsConfirmation, require_confirmation

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
