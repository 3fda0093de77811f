"""Addresses that end in `.md`: pages of a competition for programs, by token or session."""

from typing import Any, ClassVar

from django.http import HttpResponseBase
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.request import Request

from competitions.api.views.base import ApiView
from competitions.web.markdown import WANTED
from competitions.web.views import competitions
from competitions.web.views.boards import leaderboard, results
from competitions.web.views.discussions import topics
from competitions.web.visit import AS_MEMBER


class Always(BaseContentNegotiation):
    """The address says the form; only refusals are rendered here."""

    def filter_parsers(self, request: Request, parsers: Any) -> Any:
        return parsers

    def select_parser(self, request: Request, parsers: Any) -> Any:
        return parsers[0]

    def select_renderer(self, request: Request, renderers: Any, format_suffix: str | None = None) -> tuple[Any, str]:
        return renderers[0], renderers[0].media_type


class MarkdownPage(ApiView):
    """The page of the same name, for the account that the token stands for; refusals are those of the API."""

    content_negotiation_class = Always
    PAGES: ClassVar = {
        "overview": competitions.overview,
        "data": competitions.data,
        "rules": competitions.rules,
        "how-it-is-run": competitions.conduct_page,
        "leaderboard": leaderboard.leaderboard,
        "results": results.results,
        "discussion": topics.discussion,
    }

    def get(self, request: Request, slug: str, name: str = "overview", **kwargs: Any) -> HttpResponseBase:
        """A page by name, or an organizer's page by its slug."""
        if name in self.PAGES:
            return self.draw(self.PAGES[name], slug=slug)
        return self.draw(competitions.page, slug=slug, page_slug=name)

    def draw(self, view: Any, **kwargs: Any) -> HttpResponseBase:
        """The page, drawn for the person whom the API knows."""
        page_request = self.request._request
        page_request.user, page_request.META[WANTED] = self.request.user, True
        page_request.META[AS_MEMBER] = self.as_member
        response: HttpResponseBase = view(page_request, **kwargs)
        return response


class MarkdownOwnPage(MarkdownPage):
    """A page with a tab of its own."""

    def get(self, request: Request, slug: str, name: str = "", **kwargs: Any) -> HttpResponseBase:
        return self.draw(competitions.page, slug=slug, page_slug=name)


class MarkdownTopic(MarkdownPage):
    """A topic of the discussion."""

    def get(self, request: Request, slug: str, name: str = "", **kwargs: Any) -> HttpResponseBase:
        return self.draw(topics.topic, slug=slug, **kwargs)
