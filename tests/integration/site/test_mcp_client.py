"""The client of the official SDK, unchanged, against this site's `/mcp` over HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any, Literal

import httpx2
import pytest
from django.utils import timezone
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

from accounts.models import Scope
from competitions.catalog.models import Phase
from tests.scenario import Scenario, scenario
from tests.tools import secret_token

pytestmark = pytest.mark.django_db(transaction=True)
SECRET = "0.98765"
Mode = Literal["auto", "legacy"]


@pytest.fixture
def site() -> Scenario:
    return scenario(now=timezone.now())


@asynccontextmanager
async def signed_in(url: str, token: str, mode: Mode) -> AsyncIterator[Client]:
    headers = {"authorization": f"Bearer {token}"} if token else {}
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode) as client,
    ):
        yield client


def text(result: Any) -> str:
    return str(result.content[0].text)


@pytest.mark.parametrize(("mode", "revision"), [("auto", "2026-07-28"), ("legacy", "2025-11-25")])
def test_the_official_client_lists_and_calls_tools_as_its_token_allows(
    site: Scenario, live_server: Any, mode: Mode, revision: str
) -> None:
    other = scenario(now=timezone.now() - timedelta(days=1))
    Phase.objects.filter(pk=site.phase.pk).update(accepts_code=True)
    sealed = site.score(site.submit(phase=site.sealed), float(SECRET))
    slug, member = site.competition.slug, site.member()
    reader, submitter = secret_token(member, Scope.READ), secret_token(member, Scope.SUBMIT)
    foreign = secret_token(other.member(), Scope.READ)

    async def talk() -> None:
        async with signed_in(live_server.url, reader, mode) as client:
            assert client.protocol_version == revision
            assert "whoami" in {tool.name for tool in (await client.list_tools()).tools}
            assert slug in text(await client.call_tool("get_competition", {"competition": slug}))
            answer = await client.call_tool("get_submission", {"submission": sealed.pk})
            assert (answer.is_error, SECRET in text(answer)) == (False, False)
            board = {"competition": slug, "phase": site.sealed.slug}
            answer = await client.call_tool("get_leaderboard", board)
            assert (answer.is_error, "403" in text(answer), SECRET in text(answer)) == (True, True, False)
            answer = await client.call_tool("cancel_submission", {"submission": sealed.pk})
            assert (answer.is_error, "scope_missing" in text(answer)) == (True, True)
            with pytest.raises(MCPError, match="There is no tool"):
                await client.call_tool("nothing", {})
        async with signed_in(live_server.url, submitter, mode) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            assert {"submit", "cancel_submission"} <= names
            assert "get_submission" not in names
            with pytest.raises(MCPError, match="at most 2,097,152"):
                await client.call_tool("submit", {"phase": site.phase.pk, "text": "x" * 10_000_000})
        async with signed_in(live_server.url, foreign, mode) as client:
            answer = await client.call_tool("get_submission", {"submission": sealed.pk})
            assert (answer.is_error, "not_found" in text(answer)) == (True, True)
        async with signed_in(live_server.url, "", mode) as client:
            assert "whoami" not in {tool.name for tool in (await client.list_tools()).tools}

    asyncio.run(talk())
