"""One step of a draft: a question with its form, places for files, and a preview beside them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

import scoring
from competitions.organize import drafts
from competitions.organize.answers import Solution
from competitions.organize.models import CompetitionDraft
from competitions.organize.refusals import FILES_MISSING, DraftChangedElsewhere
from competitions.organize.steps.common import Moment
from competitions.organize.steps.dataset import dataset_facts
from competitions.organize.steps.paths import PAGES, draft_path, find_slot, find_step, first_open, is_done, step_rail
from competitions.organize.steps.step import FileSlot, Step, StepForm, bound
from competitions.organize.steps.table.columns import column_shapes, set_column
from competitions.organize.steps.table.data import sample_preview, solution_preview
from competitions.organize.steps.table.metric import MetricForm
from competitions.organize.steps.table.predictions import PREDICTIONS
from competitions.organize.steps.table.split import part_sizes, time_leak
from competitions.organize.views.access import answer_upload, own_draft
from competitions.resources.models import Upload
from competitions.resources.rooms import takes_uploads
from files.text import is_number

OF_THE_PAGE: Final = ("csrfmiddlewaretoken", "version", "go")


def _step(draft: CompetitionDraft, slug: str) -> Step:
    step = find_step(draft, slug)
    if step is None:
        raise Http404
    return step


@require_safe
def current(request: HttpRequest, key: UUID) -> HttpResponse:
    """Go to the step where the owner was, or to the trial when all are done."""
    draft = own_draft(request, key)
    waiting = first_open(draft)
    if waiting is None:
        return redirect("organize:trial", draft.key)
    return redirect("organize:step", draft.key, waiting.slug)


@require_http_methods(["GET", "HEAD", "POST"])
def step(request: HttpRequest, key: UUID, slug: str) -> HttpResponse:
    """Show a step, or keep what was entered and go on. What is not right is kept too when one goes back."""
    draft = own_draft(request, key)
    chosen = _step(draft, slug)
    if request.method != "POST":
        return _page(request, draft, chosen, bound(chosen.form, draft, draft.answers.get(slug)))
    sent = _sent(request)
    form = bound(chosen.form, draft, sent)
    goes_back = request.POST.get("go") == "back"
    if not goes_back and not form.is_valid():
        return _page(request, draft, chosen, form, status=422)
    try:
        drafts.draft_answer(
            draft=draft, step=slug, answers=form.kept(sent), version=_version(request), now=timezone.now()
        )
    except DraftChangedElsewhere as refusal:
        messages.error(request, refusal.detail)
        return _page(request, draft, chosen, form, status=refusal.http_status)
    saved = own_draft(request, key)  # what was answered may decide what is asked next
    if not goes_back and not is_done(saved, chosen):
        if drafts.files_being_read(saved, chosen.slots):
            return redirect("organize:step-wait", saved.key, chosen.slug)
        raise FILES_MISSING()
    return redirect(_neighbour(saved, chosen, -1 if goes_back else 1))


@require_safe
def wait(request: HttpRequest, key: UUID, slug: str) -> HttpResponse:
    """Say that files of a step are still read; then go on, or back to a file that cannot be used."""
    draft = own_draft(request, key)
    chosen = _step(draft, slug)
    reading = drafts.files_being_read(draft, chosen.slots)
    if reading:
        context = {"draft": draft, "step": chosen, "reading": reading, "rail": step_rail(draft, chosen.slug)}
        return HttpResponse(status=204) if _is_poll(request) else render(request, "organize/guided/wait.html", context)
    is_right = is_done(draft, chosen)
    url = _neighbour(draft, chosen, 1) if is_right else reverse("organize:step", args=[draft.key, chosen.slug])
    return HttpResponse(status=204, headers={"HX-Redirect": url}) if _is_poll(request) else redirect(url)


def _is_poll(request: HttpRequest) -> bool:
    """True for a request of the page's script, which asks if it can go on."""
    return "HX-Request" in request.headers


def _sent(request: HttpRequest) -> dict[str, list[str]]:
    return {name: [str(text) for text in texts] for name, texts in request.POST.lists() if name not in OF_THE_PAGE}


def _version(request: HttpRequest) -> int:
    version = request.POST.get("version", "")
    return int(version) if is_number(version) else 0


def _neighbour(draft: CompetitionDraft, chosen: Step, by: int) -> str:
    """The address of the step before or after."""
    path = draft_path(draft)
    place = path.index(chosen) + by
    if place < 0:
        return reverse("organize:start")
    if place == len(path):
        return reverse("organize:trial", args=[draft.key])
    return reverse("organize:step", args=[draft.key, path[place].slug])


def _page(
    request: HttpRequest, draft: CompetitionDraft, chosen: Step, form: StepForm, *, status: int = 200
) -> HttpResponse:
    context = {
        "draft": draft,
        "step": chosen,
        "form": form,
        "slots": [(slot, drafts.find_file(draft, slot.role)) for slot in chosen.slots],
        "rail": step_rail(draft, chosen.slug),
        "is_first": chosen is draft_path(draft)[0],
        **_preview(draft, chosen, form),
    }
    return render(request, f"organize/guided/steps/{chosen.template}.html", context, status=status)


def _preview(draft: CompetitionDraft, chosen: Step, form: StepForm) -> Mapping[str, object]:
    return {"preview": chosen.preview, **step_preview(draft, chosen, form)} if chosen.preview else {"preview": ""}


@require_POST
def preview(request: HttpRequest, key: UUID, slug: str) -> HttpResponse:
    """The preview of the step with these values, which are not kept."""
    draft = own_draft(request, key)
    chosen = _step(draft, slug)
    form = bound(chosen.form, draft, _sent(request))
    return render(
        request, "organize/guided/_preview.html", {"draft": draft, "step": chosen, **_preview(draft, chosen, form)}
    )


def _slot(draft: CompetitionDraft, role: str) -> FileSlot:
    slot = find_slot(draft, role)
    if slot is None:
        raise Http404
    return slot


@takes_uploads(lambda request, key, role: own_draft(request, key))
@require_POST
def attach(request: HttpRequest, key: UUID, role: str) -> HttpResponse:
    """Take a finished upload (the page's script) or a file in the form (without script)."""
    draft = own_draft(request, key)
    slot = _slot(draft, role)

    def take(upload: Upload) -> str:
        drafts.draft_attach(draft=draft, slot=slot, upload=upload, now=timezone.now())
        return _step_url(draft, slot)

    return answer_upload(request, take)


def _step_url(draft: CompetitionDraft, slot: FileSlot) -> str:
    slug = next(step.slug for step in draft_path(draft) if slot in step.slots)
    return reverse("organize:step", args=[draft.key, slug])


@require_safe
def file_status(request: HttpRequest, key: UUID, role: str) -> HttpResponse:
    """The progress of reading a file, served alone; the page loads itself again once it is over."""
    draft = own_draft(request, key)
    slot, file = _slot(draft, role), drafts.find_file(draft, role)
    response = render(request, "organize/guided/_file.html", {"draft": draft, "slot": slot, "file": file})
    if file is not None and file.state != file.State.WAITING:
        response.headers["HX-Refresh"] = "true"
    return response


@require_POST
def detach(request: HttpRequest, key: UUID, role: str) -> HttpResponse:
    draft = own_draft(request, key)
    slot = _slot(draft, role)
    drafts.draft_detach(draft=draft, role=role, now=timezone.now())
    return redirect(_step_url(draft, slot))


@require_POST
def discard(request: HttpRequest, key: UUID) -> HttpResponse:
    """Throw the draft away."""
    draft = own_draft(request, key)
    drafts.draft_discard(draft=draft, now=timezone.now())
    messages.success(request, f"The draft “{draft.title}” was thrown away.")
    return redirect("organize:start")


SHOWN_ROWS: Final = 8


def _moment(value: object) -> datetime | None:
    """The date of a form's field, right or not; None where it is no date."""
    try:
        moment: datetime | None = Moment(required=False).clean(value)
    except ValidationError:
        return None
    return moment


def step_preview(draft: CompetitionDraft, step: Step, form: StepForm) -> Mapping[str, object]:
    """The context of this step's preview, made of the form's values as they are, right or wrong."""
    values = {name: form[name].value() for name in form.fields}
    context: dict[str, object] = {"values": values}
    if step.slug == "schedule":
        opens_at, closes_at = (_moment(values[name]) for name in ("opens_at", "closes_at"))
        context |= {"opens_at": opens_at, "closes_at": closes_at}
        context["ends_first"] = bool(opens_at and closes_at and closes_at <= opens_at)
    if draft.start == CompetitionDraft.Start.TABLE:
        context |= _table(solution_preview(draft))
    if step.slug == "dataset":
        context["facts"] = _facts(values.get("dataset"))
    if step.slug == "labels":
        context["facts"] = _facts(draft.answers.get("dataset", {}).get("dataset", [None])[0])
    if step.slug == "pages":
        context["texts"] = {name: values[f"{name}_text"] or "" for name in PAGES}
    if step.slug == "columns":
        context |= {"targets": column_shapes(draft, values.get("targets") or []), "set_column": set_column(draft)}
    if isinstance(form, MetricForm):
        context["chosen"] = form.chosen()
    if step.slug == PREDICTIONS.slug:
        context |= _table(sample_preview(draft))
    if step.slug == "split":
        context |= {"parts": part_sizes(draft, values), "leak": time_leak(draft, values)}
    return context


def _table(solution: Solution | None) -> Mapping[str, object]:
    """The solution, and those of its columns that the first rows show; nothing of it before it was read."""
    if solution is None:
        return {"solution": None}
    shown = len(solution["first_rows"][0])
    marks = [column["type"] != "text" for column in solution["columns"][:shown]]
    return {
        "solution": solution,
        "rows": [list(zip(row, marks, strict=False)) for row in solution["first_rows"][:SHOWN_ROWS]],
        "shown_columns": solution["columns"][:shown],
        "more_columns": len(solution["columns"]) - shown,
    }


def _facts(name: Any) -> Mapping[str, object] | None:
    return dataset_facts(str(name)) if name in scoring.names() else None
