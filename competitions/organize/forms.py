"""Lists and forms of the workspace that edit no row: filters, rows that are ticked, actions, uploads."""

from collections.abc import Iterable, Sequence
from typing import Any, Final, cast

from django import forms
from django.db.models import Q, QuerySet
from django.http import HttpRequest, QueryDict

from competitions.catalog.models import Competition, Format, Phase
from competitions.compute.models import Queue
from competitions.organize.refusals import NOTHING_CHOSEN
from competitions.organize.steps.common import Moment
from competitions.resources.models import Resource
from competitions.runs.accounting.gpu_hours import MOST_HOURS
from competitions.web.forms import offer
from core.rows import RowT
from files.text import is_number

PAGE_SIZE: Final = 50


class ListForm(forms.Form):
    """Filters of a list; a value that is wrong filters nothing, and the page says so."""

    before = forms.IntegerField(required=False, min_value=1, max_value=2**63 - 1, widget=forms.HiddenInput)

    def filtered(self, rows: QuerySet[RowT], **filters: str) -> QuerySet[RowT]:
        """The rows with the entered values, newest first; `filters` names a filter for a field of the row."""
        named = filters | {"pk__lt": "before"}
        values = {field: self.cleaned_data.get(name) for field, name in named.items()}
        return rows.filter(**{field: value for field, value in values.items() if value}).order_by("-pk")


def list_page(request: HttpRequest, rows: QuerySet[Any]) -> tuple[list[Any], str]:
    """The first rows, and the query of the address at which the list goes on; empty at its end."""
    shown = list(rows[: PAGE_SIZE + 1])
    if len(shown) <= PAGE_SIZE:
        return shown, ""
    query = request.GET.copy()
    query["before"] = str(shown[PAGE_SIZE - 1].pk)
    return shown[:PAGE_SIZE], query.urlencode()


def ticked(rows: QuerySet[RowT], numbers: Sequence[int], what: str) -> QuerySet[RowT]:
    """The rows that were ticked. Raises `NOTHING_CHOSEN`."""
    chosen = rows.filter(pk__in=numbers[:PAGE_SIZE]).order_by("pk")
    if not chosen.exists():
        raise NOTHING_CHOSEN(what=what)
    return chosen


REASON_LENGTH: Final = 500


class NumbersField(forms.Field):
    """Numbers of rows that are ticked; what is not a number names none."""

    widget = forms.MultipleHiddenInput

    def to_python(self, value: Any) -> list[int]:
        return [int(number) for number in value or () if is_number(number)]


class BulkForm(forms.Form):
    """An action on the rows that are ticked, and its reason."""

    action = forms.ChoiceField(label="What to do")
    chosen = NumbersField(required=False)
    reason = forms.CharField(required=False, max_length=REASON_LENGTH)
    confirmed = forms.BooleanField(required=False)

    def __init__(self, data: QueryDict, *, actions: Iterable[str]) -> None:
        super().__init__(data)
        cast("forms.ChoiceField", self.fields["action"]).choices = [(name, name) for name in actions]


class SubmissionsForm(BulkForm):
    """An action on submissions; `queue` is where their waiting runs go."""

    queue = forms.ModelChoiceField(Queue.objects.none(), required=False, to_field_name="name")

    def __init__(self, data: QueryDict, *, actions: Iterable[str], queues: QuerySet[Queue]) -> None:
        super().__init__(data, actions=actions)
        offer(self, "queue", queues)


class SolutionForm(forms.Form):
    """The phase in which a solution is run."""

    phase = forms.ModelChoiceField(Phase.objects.none())

    def __init__(self, competition: Competition, data: QueryDict) -> None:
        super().__init__(data)
        offer(self, "phase", competition.phases.all())


class ConfirmedForm(forms.Form):
    """The confirmation of what a page said would happen; `upload` where a file takes another's place."""

    confirmed = forms.CharField(required=False)
    upload = forms.UUIDField(required=False)


class PreviewForm(forms.Form):
    """A text as it is typed; what is missing or of no known format is shown all the same."""

    body = forms.CharField(required=False, strip=False)
    text = forms.CharField(required=False, strip=False)
    format = forms.ChoiceField(choices=Format.choices, required=False)

    def shown(self, field: str) -> dict[str, object]:
        """The text of this field with its format, as fields of the row that shows it."""
        self.is_valid()
        values = self.cleaned_data
        return {field: values.get(field, ""), "format": Format(values.get("format") or Format.MARKDOWN)}


class ImageNameForm(forms.Form):
    name = forms.CharField(label="The image's name")


class OrganizerForm(forms.Form):
    """Add the person, or do something with an organizer."""

    action = forms.ChoiceField(
        choices=[(name, name) for name in ("add", "take_back", "remove", "show_sealed", "hide_sealed")]
    )
    person = forms.CharField(required=False, max_length=254)
    organizer = forms.CharField(required=False)
    invitation = forms.IntegerField(required=False, min_value=1, max_value=2**63 - 1)


class PlanForm(forms.Form):
    """The instant at which a competition is published."""

    at = Moment(label="Publish at (UTC)")


class PublishForm(forms.Form):
    """At once where nothing is said, at a planned instant, or not any more."""

    when = forms.ChoiceField(required=False, choices=[(name, name) for name in ("planned", "cancel")])


class VisibilityForm(forms.Form):
    action = forms.ChoiceField(
        choices=[(name, name) for name in ("publish", "plan", "cancel-plan", "withdraw", "delete")]
    )
    confirm = forms.CharField(required=False)


class SendForm(forms.Form):
    """The mail that was looked at before it is sent; its key is new each time it is shown."""

    key = forms.UUIDField()


class TokenForm(forms.Form):
    """An action on a queue's token, and whether its consequences were confirmed."""

    action = forms.ChoiceField(choices=[(name, name) for name in ("issue", "revoke")])
    confirmed = forms.BooleanField(required=False)


class WorkerForm(forms.Form):
    action = forms.ChoiceField(choices=[(name, name) for name in ("drain", "undrain", "release")])


class KindForm(forms.Form):
    kind = forms.ChoiceField(label="Kind", choices=Resource.Kind.choices)


class ResourceFilterForm(ListForm):
    """Filters of the list of files."""

    name = forms.CharField(label="Name", required=False, max_length=60)
    kind = forms.ChoiceField(label="Kind", required=False, choices=[("", "All kinds"), *Resource.Kind.choices])

    def narrowed(self, rows: QuerySet[Resource]) -> QuerySet[Resource]:
        """The rows that the address asks for."""
        self.is_valid()
        if text := self.cleaned_data.get("name"):
            rows = rows.filter(Q(name__icontains=text) | Q(file_name__icontains=text))
        return self.filtered(rows, kind="kind")


class GpuHoursForm(forms.Form):
    """GPU hours a month of one competition on a queue; empty: the queue's number."""

    competition = forms.SlugField()
    hours = forms.IntegerField(label="GPU hours a month", required=False, min_value=0, max_value=MOST_HOURS)
