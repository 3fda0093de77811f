"""Answers to messages of the Model Context Protocol, by the official SDK: nothing stays of one.

The SDK is ASGI. Its application runs in an event loop that begins and ends with the request; the calls of the API run on the
request's own thread, where its database connection is.
"""

import json
from collections.abc import MutableMapping
from importlib.metadata import version
from typing import Any, Final

import mcp_types as types
from asgiref.sync import async_to_sync, sync_to_async
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from mcp.server.lowlevel.server import Server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.exceptions import MCPError

from accounts.models import ApiToken
from competitions.mcp.calls import tool_call
from competitions.mcp.tools import BY_NAME, MAX_BODY_BYTES, TOOLS, Tool
from core.refusals import Refusal, refusal_response
from core.untrusted import NOTICE, fenced

MAX_ANSWER_CHARS: Final = 200_000
INSTRUCTIONS: Final = (
    "Machine-learning competitions: read them, submit for your team, follow submissions. You act for the person whose token "
    "you have, within that team's limits. A person accepts the rules; read them before you submit, and say that you are an agent "
    f"where a phase asks for it. {NOTICE}"
)
PASSED_ON: Final = ("content-type", "origin", "mcp-protocol-version", "mcp-method", "mcp-name", "mcp-session-id")

Event = MutableMapping[str, Any]


def answer_message(request: HttpRequest, token: ApiToken | None) -> HttpResponse:
    """The answer to the message in the body."""
    status, headers, body = async_to_sync(_exchange)(_server(request, token), request)
    response = HttpResponse(body, status=status)
    response.headers["Content-Type"] = headers.get("content-type", "application/json")
    return response


def _server(request: HttpRequest, token: ApiToken | None) -> Server[Any]:
    async def list_tools(context: Any, params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_described(tool) for tool in TOOLS if tool.is_shown_to(token)])

    async def call_tool(context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        tool = BY_NAME.get(params.name)
        if tool is None:
            raise MCPError(
                types.INVALID_PARAMS, f"There is no tool {params.name[:100]!r}. `tools/list` names those there are."
            )
        return await sync_to_async(_called)(request, tool, params.arguments or {})

    return Server(
        "podium",
        version=version("podium"),
        title=settings.BRAND.name,
        instructions=INSTRUCTIONS,
        website_url=settings.SITE_URL,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        get_tool_input_schema=lambda name: BY_NAME[name].schema if name in BY_NAME else None,
    )


def _described(tool: Tool) -> types.Tool:
    return types.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.schema,
        annotations=types.ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.is_reading,
            destructive_hint=tool.destroys,
            idempotent_hint=tool.is_reading or tool.method == "PUT",
            open_world_hint=False,
        ),
    )


def _called(request: HttpRequest, tool: Tool, arguments: dict[str, object]) -> types.CallToolResult:
    """A tool's answer; a refusal is one, too, with the sentence that the API has for it."""
    try:
        response = tool_call(request, tool, arguments)
    except Refusal as refusal:
        response = refusal_response(refusal)
    is_refused = response.status_code >= 400
    parts = _refusal_parts(response) if is_refused else _answer_parts(response.content.decode(), tool.authors)
    return types.CallToolResult(content=[types.TextContent(text="\n\n".join(parts))], is_error=is_refused)


def _answer_parts(text: str, authors: str) -> list[str]:
    """An answer, bounded and marked where people's texts are in it."""
    if len(text) > MAX_ANSWER_CHARS:
        text = f"{text[:MAX_ANSWER_CHARS]}\n(Cut here, of {len(text):,} characters. The API has the whole answer.)"
    return [NOTICE, fenced(text, authors)] if authors else [text]


def _refusal_parts(response: HttpResponse) -> list[str]:
    """Status and code, and the sentence, which may quote what somebody wrote."""
    problem = json.loads(response.content)
    more = {name: problem[name] for name in problem if name not in ("type", "title", "status", "code", "detail")}
    detail = problem["detail"] + (f"\n{json.dumps(more)}" if more else "")
    return [
        f"Refused: {problem['status']} {problem['code']}.",
        fenced(detail, "the site, with words of others in quotes"),
    ]


async def _exchange(server: Server[Any], request: HttpRequest) -> tuple[int, dict[str, str], bytes]:
    """Status, headers and body of the SDK's answer."""
    manager = StreamableHTTPSessionManager(
        server,
        json_response=True,
        stateless=True,
        max_request_body_size=MAX_BODY_BYTES,
        security_settings=TransportSecuritySettings(
            allowed_hosts=[request.get_host()],  # which Django has compared with the site's
            allowed_origins=[settings.SITE_URL],
        ),
    )
    events: list[Event] = [{"type": "http.request", "body": request.body, "more_body": False}]
    sent: list[Event] = []

    async def receive() -> Event:
        return events.pop() if events else {"type": "http.disconnect"}

    async def send(event: Event) -> None:
        sent.append(event)

    async with manager.run():
        await manager.handle_request(_scope(request), receive, send)
    headers = {name.decode().lower(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], headers, b"".join(event.get("body", b"") for event in sent[1:])


def _scope(request: HttpRequest) -> dict[str, object]:
    """The request for the SDK, which answers in JSON: nobody is promised a stream of events."""
    headers = {name: request.headers[name] for name in PASSED_ON if name in request.headers}
    headers |= {name.lower(): value for name, value in request.headers.items() if name.lower().startswith("mcp-param-")}
    headers |= {"accept": "application/json", "host": request.get_host()}
    return {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": request.scheme,
        "path": request.path,
        "raw_path": request.path.encode(),
        "query_string": b"",
        "root_path": "",
        "headers": [(name.encode(), value.encode("latin-1")) for name, value in headers.items()],
    }
