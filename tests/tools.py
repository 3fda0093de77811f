"""Messages to `/mcp`, as a program of any revision of the protocol sends them."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

from django.test import Client
from django.utils import timezone

from accounts.models import Agent, Scope, User, token_create

HANDSHAKE, MODERN = "2025-06-18", "2026-07-28"
PREFIX = "io.modelcontextprotocol/"


def secret_token(user: User, *scopes: Scope, agent: Agent | None = None) -> str:
    """A token of a day."""
    until = timezone.now() + timedelta(days=1)
    return token_create(user=user, name="tools", scopes=list(scopes), expires_at=until, agent=agent)[1]


def message(
    method: str, params: dict[str, Any] | None = None, *, token: str = "", revision: str = MODERN, **headers: str
) -> Any:
    """The answer to a message."""
    params = dict(params or {})
    headers = {"accept": "application/json, text/event-stream", "mcp-protocol-version": revision, **headers}
    if token:
        headers["authorization"] = f"Bearer {token}"
    if revision == MODERN:
        client = {"name": "tests", "version": "1"}
        named = {"protocolVersion": revision, "clientCapabilities": {}, "clientInfo": client}
        params["_meta"] = {PREFIX + name: value for name, value in named.items()}
        headers |= {"mcp-method": method} | ({"mcp-name": params["name"]} if "name" in params else {})
    document = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    return Client().post("/mcp", document, content_type="application/json", headers=headers)


def tool_names(token: str = "", revision: str = MODERN) -> set[str]:
    """The tools that a token is shown."""
    return {tool["name"] for tool in message("tools/list", token=token, revision=revision).json()["result"]["tools"]}


def called(tool: str, token: str = "", **arguments: Any) -> tuple[bool, str]:
    """If a call was done, and its text."""
    params = {"name": tool, "arguments": arguments}
    result = message("tools/call", params, token=token).json()["result"]
    return not result["isError"], result["content"][0]["text"]
