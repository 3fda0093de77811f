"""The page that shows every token and component of the design system; there while PODIUM_DEBUG is on."""

import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from django import forms
from django.contrib.staticfiles.finders import find
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from accounts.views import open_page
from competitions.catalog.models import Column, Phase
from competitions.submissions.states import State
from competitions.web.presentation.charts import score_chart
from competitions.web.presentation.timeline import timeline
from competitions.web.progress import Progress
from core.design.charts import Chart, Level
from core.refusals import NotAllowed

COLOURS: Final = (
    "accent",
    "accent-ground",
    "warm",
    "warm-bright",
    "warm-ground",
    "good",
    "good-ground",
    "bad",
    "bad-ground",
    "surface",
    "ground",
    "sunken",
    "line",
    "ink",
    "ink-soft",
)
SIZES: Final = ("tiny", "small", "body", "h3", "h2", "h1", "title", "figure")
SPACES: Final = (1, 2, 3, 4, 6, 8, 12)
MESSAGES: Final = {
    "success": "Submission 12 was accepted.",
    "warning": "The phase closes in an hour.",
    "error": "The file has 39 rows; 40 were expected.",
    "info": "You are invited to a team.",
}
TEAMS: Final = (("Gradient Descenders", "0.9312"), ("Overfitters Anonymous", "0.9298"), ("Éva és a többiek", "0.9105"))


class ExampleForm(forms.Form):
    """One field of each kind, the first of them filled in wrongly."""

    name = forms.CharField(label="Team name", max_length=8, help_text="Shown on the leaderboard.")
    size = forms.ChoiceField(label="Size", choices=[("1", "One person"), ("2", "A few people")])
    text = forms.CharField(label="About you", widget=forms.Textarea({"rows": 3}), required=False)
    accepts = forms.BooleanField(label="I have read the rules", required=False)


@open_page
def styleguide(request: HttpRequest) -> HttpResponse:
    """All components on one page, with made-up content; with `?refused`, a refusal as htmx shows it."""
    if "refused" in request.GET:
        raise NotAllowed("Your team has used all 5 submissions for today.")
    now = timezone.now()
    context = {
        "colours": COLOURS,
        "sizes": SIZES,
        "spaces": SPACES,
        "icons": icon_names(),
        "states": list(State),
        "messages_shown": MESSAGES,
        "teams": TEAMS,
        "steps": timeline(_phases(now), now),
        "chart": _chart(now),
        "progress": Progress(sentence="", elapsed_s=5_400, limit_s=14_400, projected_s=9_000),
        "form": ExampleForm({"name": "A name that is too long", "size": "1"}),
    }
    return render(request, "components/styleguide.html", context)


def icon_names() -> list[str]:
    """The icons of the sprite."""
    path = find("podium/icons.svg")
    assert isinstance(path, str), "the sprite is part of the site"
    return re.findall(r'<symbol id="([^"]+)"', Path(path).read_text())


def _phases(now: datetime) -> list[Phase]:
    week = timedelta(days=7)
    return [
        Phase(name="Practice", opens_at=now - 3 * week, closes_at=now - 2 * week),
        Phase(name="Development", opens_at=now - 2 * week, closes_at=now + week),
        Phase(name="Final", opens_at=now + week, closes_at=now + 2 * week),
    ]


def _chart(now: datetime) -> Chart | None:
    best = [(20, 0.61, TEAMS[2][0]), (14, 0.52, TEAMS[1][0]), (9, 0.47, TEAMS[0][0]), (2, 0.43, TEAMS[0][0])]
    own = [(12, 0.66), (6, 0.55), (1, 0.48)]
    return score_chart(
        [(now - timedelta(days=days), value, name) for days, value, name in best],
        [(now - timedelta(days=days), value, "") for days, value in own],
        Column(key="mae", title="MAE", precision=2),
        until=now,
        levels=[Level("Mean of the targets", 0.58, "0.58")],
    )
