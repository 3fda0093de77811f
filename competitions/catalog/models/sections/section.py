"""The base of a phase's sections, and the settings of any model that declares some."""

from collections.abc import Mapping
from typing import ClassVar

from django.db import models


class Section(models.Model):
    """Fields of a phase that belong together.

    `form` maps the headings of the form to the fields below them, which organizers' programs read and change by the same names;
    `api` names what everybody who sees the phase is told; `bundle` says for each field where it stands in a bundle's phase,
    `podium.X` for what is below its `podium`. Form, API, and the bundle's schema, reader and writer follow from these. Fields that
    a bundle says otherwise, such as several as one list, are read by `bundles/importing/` and written by `bundles/writer.py`.
    `form_kinds` says for a heading to which kinds of submissions its settings apply; a heading that is not in it applies to all.

    Competition, Task, Leaderboard and Column declare theirs likewise; where a bundle that leaves a setting out means something
    else than the model's default, as Codabench does, `bundle_defaults` says what.
    """

    form: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    form_kinds: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    api: ClassVar[tuple[str, ...]] = ()
    bundle: ClassVar[Mapping[str, str]] = {}

    class Meta:
        abstract = True

    def faults(self) -> dict[str, str]:
        """Faults of the section's fields together, by field; validators check each field by itself."""
        return {}


def setting_names(model: type[models.Model]) -> tuple[str, ...]:
    """The fields of a model that its organizers set, in the order of its form."""
    form: Mapping[str, tuple[str, ...]] = getattr(model, "form")  # noqa: B009  # on five models that have no base in common
    return tuple(name for names in form.values() for name in names)
