"""Pages, images and rules of the workspace: written with a preview beside them, kept in order.

Rules are compared with those in force, and published as a new version, which everybody who takes part accepts again.
"""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from accounts.views import posted
from competitions.catalog.form_fields.images import store_upload
from competitions.catalog.models import Competition, Format, ImageUpload, Page, RulesVersion
from competitions.catalog.services import current_rules
from competitions.catalog.texts.images import MAX_IMAGES, MAX_TOTAL_BYTES, image_request
from competitions.catalog.texts.pages import page_delete, page_move
from competitions.organize.editing.change_form import ChangeForm
from competitions.organize.editing.texts import ImageForm, PageForm, RulesForm, difference, rules_template
from competitions.organize.forms import ImageNameForm, PreviewForm
from competitions.organize.views.editing.changes import change_page, render_page, show_preview, wants_preview
from competitions.organize.views.workspace import managed_competition
from competitions.resources.rooms import takes_images
from competitions.web.forms import cleaned
from competitions.web.visit import visit
from files.markup import MAX_CHARACTERS


@require_http_methods(["GET", "HEAD"])
def pages(request: HttpRequest, slug: str) -> HttpResponse:
    """Every page by the tab that shows it, in order."""
    competition = managed_competition(request, slug)
    by_tab = [
        (label, [page for page in competition.pages.all() if page.tab == tab])
        for tab, label in (
            ("overview", "On the overview"),
            ("data", "On the page Data"),
            ("own", "With tabs of their own"),
        )
    ]
    context = {"by_tab": by_tab, "has_pages": any(pages for _, pages in by_tab)}
    return render_page(request, competition, "organize/pages/pages.html", context, tab="pages")


@require_http_methods(["GET", "HEAD", "POST"])
def page(request: HttpRequest, slug: str, pk: int | None = None) -> HttpResponse:
    """Write a page, or a new one; while one types the preview is asked for alone."""
    competition = managed_competition(request, slug)
    if wants_preview(request):
        return show_preview(request, competition, Page(**PreviewForm(request.POST).shown("body")))
    before = None if pk is None else get_object_or_404(competition.pages, pk=pk)

    def make(data: QueryDict | None) -> PageForm:
        rows = competition.pages.select_for_update() if data else competition.pages.all()
        return PageForm(competition, data, instance=None if pk is None else get_object_or_404(rows, pk=pk))

    def context(form: ChangeForm) -> dict[str, object]:
        shown = Page(body=str(form["body"].value() or ""), format=str(form["format"].value() or Format.MARKDOWN))
        return {"page": before, "shown": shown, "visit": visit(request, slug), "images": competition.images.all()}

    title = f"Page “{before.title}”" if before else "New page"
    return change_page(request, make, tab="pages", title=title, template="organize/pages/page.html", context=context)


@require_POST
def page_act(request: HttpRequest, slug: str, pk: int, action: str) -> HttpResponse:
    """Move a page up or down, or delete it."""
    chosen = get_object_or_404(managed_competition(request, slug).pages, pk=pk)
    if action == "delete":
        page_delete(chosen)
        messages.success(request, f"The page “{chosen.title}” was deleted.")
    else:
        page_move(chosen, up=action == "up")
    return redirect("organize:pages", slug)


@takes_images(managed_competition)
@require_http_methods(["GET", "HEAD", "POST"])
def images(request: HttpRequest, slug: str) -> HttpResponse:
    """Images that pages show: what to write for each, and a form for another one."""
    competition = managed_competition(request, slug)
    form = ImageForm(posted(request), request.FILES or None)
    if request.method == "POST" and form.is_valid():
        upload, name = form.cleaned_data["upload"], form.cleaned_data["name"]
        page_place, now = ImageUpload.Place.PAGE, timezone.now()
        image_request(competition=competition, place=page_place, file=store_upload(upload), name=name, now=now)
        messages.success(request, f"“{name}” was uploaded. It can be shown in a few seconds.")
        return redirect("organize:images", slug)
    context, status = {"form": form} | _page_images(competition), 422 if form.errors else 200
    return render_page(request, competition, "organize/pages/images.html", context, tab="images", status=status)


def _page_images(competition: Competition) -> dict[str, object]:
    shown = list(competition.images.select_related("file", "small"))
    return {
        "images": shown,
        "asked": competition.image_uploads.filter(place=ImageUpload.Place.PAGE),
        "used": sum(image.file.size_bytes for image in shown),
        "max_bytes": MAX_TOTAL_BYTES,
        "max_images": MAX_IMAGES,
    }


@require_POST
def image_delete(request: HttpRequest, slug: str) -> HttpResponse:
    """Delete an image, and what was uploaded in its place and is not shown yet."""
    competition, name = managed_competition(request, slug), cleaned(ImageNameForm(request.POST))["name"]
    competition.image_uploads.filter(place=ImageUpload.Place.PAGE, name=name).delete()
    competition.images.filter(name=name).delete()
    messages.success(request, f"The image “{name}” was deleted. Texts that name it show its description.")
    return redirect("organize:images", slug)


@require_http_methods(["GET", "HEAD", "POST"])
def rules(request: HttpRequest, slug: str) -> HttpResponse:
    """Change the rules, saying first what people must then do; `?template=yes` begins with a template."""
    competition = managed_competition(request, slug)
    if wants_preview(request):
        return show_preview(request, competition, RulesVersion(**PreviewForm(request.POST).shown("text")))
    before = current_rules(competition)

    def make(data: QueryDict | None) -> RulesForm:
        if data:  # versions are numbered one after the other
            Competition.objects.select_for_update(no_key=True).get(pk=competition.pk)
        start = {"text": rules_template(competition)} if before is None or "template" in request.GET else {}
        return RulesForm(competition, data, instance=current_rules(competition), initial=start)

    def context(form: ChangeForm) -> dict[str, object]:
        text = str(form["text"].value() or "")
        shown = RulesVersion(text=text, format=str(form["format"].value() or Format.MARKDOWN))
        is_bounded = len(text) <= MAX_CHARACTERS  # a longer one is refused
        compared = list(difference(before.text, text.replace("\r\n", "\n"))) if before and is_bounded else []
        images = competition.images.all()
        return {
            "rules": before,
            "shown": shown,
            "difference": compared,
            "visit": visit(request, slug),
            "images": images,
        }

    title = "The rules"
    return change_page(
        request, make, tab="rules", title=title, back="overview", template="organize/pages/rules.html", context=context
    )
