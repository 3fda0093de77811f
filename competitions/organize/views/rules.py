"""The rules in the workspace: write with a preview, compare, publish as a new version."""

from django.http import HttpRequest, HttpResponse, QueryDict
from django.views.decorators.http import require_http_methods

from competitions.catalog.models import Competition, Format, RulesVersion
from competitions.catalog.services import current_rules
from competitions.organize.editing.change_form import ChangeForm
from competitions.organize.editing.rules import RulesForm, difference, rules_template
from competitions.organize.forms import PreviewForm
from competitions.organize.views.changes import change_page, show_preview, wants_preview
from competitions.organize.views.workspace import managed_competition
from competitions.web.visit import visit


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
        compared = list(difference(before.text, text.replace("\r\n", "\n"))) if before else []
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
