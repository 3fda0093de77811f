"""Steps of the workspace's forms: save, show again with what is wrong, or preview."""

from collections.abc import Callable, Mapping

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone

from accounts.views import posted
from competitions.catalog.models import Competition, Page, RulesVersion
from competitions.organize.editing.change_form import ChangeForm, CompetitionForm
from competitions.organize.editing.deletions import Deletion, delete_confirmed
from competitions.organize.forms import ConfirmedForm
from competitions.web.forms import cleaned
from competitions.web.visit import visit
from core.rows import RowT


def change_page(
    request: HttpRequest,
    make: Callable[[QueryDict | None], ChangeForm],
    *,
    tab: str,
    title: str,
    back: str = "",
    template: str = "organize/editing/change.html",
    context: Callable[[ChangeForm], Mapping[str, object]] = lambda form: {},
) -> HttpResponse:
    """Save what was posted and go to the list, `back` or the tab's; else show the form with its errors.

    `make` returns the form, with a locked row if there are data to save.
    """
    form, is_saved = _submit(request, make)
    competition = form.competition if isinstance(form, CompetitionForm) else None
    back_url = list_url(back or tab, competition)
    if is_saved:
        messages.success(request, " ".join([f"{title} was saved.", *form.remarks]))
        return redirect(back_url)
    status = 409 if form.is_late else 422 if _saves(request) and form.is_refused else 200
    own = {"form": form, "title": title, "back_url": back_url}
    return render_page(request, competition, template, {**own, **context(form)}, tab=tab, status=status)


def delete_page(
    request: HttpRequest,
    competition: Competition | None,
    row: RowT,
    describe: Callable[[RowT], Deletion],
    *,
    tab: str,
    delete: Callable[[RowT], object] = lambda row: row.delete(),
) -> HttpResponse:
    """Show the effects of deleting a row; once they are confirmed, delete it and go to the list."""
    back_url = list_url(tab, competition)
    if request.method == "POST":
        confirmed: str = cleaned(ConfirmedForm(request.POST))["confirmed"]
        deletion = delete_confirmed(row, describe, confirmed, delete)
        messages.success(request, f"You deleted {deletion.what}.")
        return redirect(back_url)
    context = {"deletion": describe(row), "back_url": back_url}
    return render_page(request, competition, "organize/editing/delete.html", context, tab=tab)


def list_url(name: str, competition: Competition | None) -> str:
    """The address of a list in a competition's workspace, or of an organizer's own things."""
    return reverse(f"organize:{name}", args=[] if competition is None else [competition.slug])


def render_page(
    request: HttpRequest,
    competition: Competition | None,
    template: str,
    context: Mapping[str, object],
    *,
    tab: str,
    status: int = 200,
) -> HttpResponse:
    """A page of a competition's workspace, or without one of what an organizer has beside them."""
    base = f"organize/{'workspace' if competition else 'own'}/base.html"
    own = {"base": base, "tab": tab} | ({"competition": competition} if competition else {})
    return render(request, template, {**own, **context}, status=status)


def _saves(request: HttpRequest) -> bool:
    return request.method == "POST" and "preview" not in request.POST


def _submit(request: HttpRequest, make: Callable[[QueryDict | None], ChangeForm]) -> tuple[ChangeForm, bool]:
    """The form, and whether it was saved; what it tried is undone where it was not."""
    with transaction.atomic():
        form = make(posted(request))
        is_saved = _saves(request) and form.submit(timezone.now()) is not None
        transaction.set_rollback(not is_saved)
    return form, is_saved


def wants_preview(request: HttpRequest) -> bool:
    """A text is previewed alone, while somebody types."""
    return request.method == "POST" and "preview" in request.POST and bool(request.headers.get("HX-Request"))


def show_preview(request: HttpRequest, competition: Competition, text: Page | RulesVersion) -> HttpResponse:
    """The text as people will read it, served alone."""
    return render(request, "organize/pages/_text.html", {"shown": text, "visit": visit(request, competition.slug)})
