"""Calls of the API inside the process: the same view, token, rules and refusals as over HTTP."""

import base64
import binascii
import json
from functools import partial
from io import BytesIO
from typing import Any, Final
from urllib.parse import urlencode

import jsonschema
from django.contrib.auth.models import AnonymousUser
from django.core.handlers.wsgi import WSGIRequest
from django.http import HttpRequest, HttpResponse
from django.urls import resolve, reverse
from rest_framework.response import Response

from audit.middleware import AuditMiddleware
from competitions.api.authentication import BY_TOOL
from competitions.mcp.tools import BAD_ARGUMENT, INLINE_BYTES, SUBMIT, Tool

PASSED_ON: Final = (
    "HTTP_AUTHORIZATION",
    "HTTP_HOST",
    "HTTP_X_FORWARDED_FOR",
    "HTTP_X_FORWARDED_PROTO",
    "REMOTE_ADDR",
    "SERVER_NAME",
    "SERVER_PORT",
    "wsgi.url_scheme",
)
JSON: Final = "application/json"


def tool_call(outer: HttpRequest, tool: Tool, arguments: dict[str, object]) -> HttpResponse:
    """The API's answer. Raises a `Refusal` for arguments that are not the tool's."""
    _require_valid(tool, arguments)
    path, payload = tool.path(arguments), tool.payload(arguments)
    if tool is SUBMIT:
        return _submit(outer, path, payload)
    if tool.is_reading:
        return api_call(outer, "GET", f"{path}?{urlencode(payload)}" if payload else path)
    return api_call(outer, tool.method, path, json.dumps(payload).encode())


def api_call(outer: HttpRequest, method: str, address: str, body: bytes = b"", **headers: str) -> HttpResponse:
    """One call, counted by the rate of the call that it is part of."""
    path, _, query = address.partition("?")
    environ = {name: outer.META[name] for name in PASSED_ON if name in outer.META} | {
        "REQUEST_METHOD": method,
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "CONTENT_TYPE": JSON,
        "CONTENT_LENGTH": str(len(body)),
        "HTTP_ACCEPT": JSON,
        "wsgi.input": BytesIO(body),
        BY_TOOL: True,
        **headers,
    }
    request = WSGIRequest(environ)
    request.user = AnonymousUser()  # whoever the token stands for; never a session
    match = resolve(path)
    view = match.func.cls.as_view(**match.func.initkwargs, throttle_classes=[])  # type: ignore[attr-defined]  # of DRF
    request.resolver_match = match
    response = AuditMiddleware(partial(view, **match.kwargs))(request)
    return response.render() if isinstance(response, Response) else response


def _require_valid(tool: Tool, arguments: dict[str, object]) -> None:
    fault = next(jsonschema.Draft202012Validator(tool.schema).iter_errors(arguments), None)
    if fault is not None:
        where = ".".join(map(str, fault.path)) or "the arguments"
        raise BAD_ARGUMENT(sentence=f"In {where}: {fault.message[:300]}")


def _submit(outer: HttpRequest, path: str, payload: dict[str, Any]) -> HttpResponse:
    """Submit an upload, or a small file, which is uploaded first by the same calls as any other."""
    key, content = payload.pop("idempotency_key", ""), _content(payload)
    if content is None:
        return api_call(outer, "POST", path, json.dumps(payload).encode(), HTTP_IDEMPOTENCY_KEY=key)
    uploaded = _upload(outer, payload.pop("file_name", "prediction.csv"), content)
    if uploaded.status_code != 200:
        return uploaded
    upload = json.loads(uploaded.content)["key"]
    body = json.dumps(payload | {"upload": upload}).encode()
    answer = api_call(outer, "POST", path, body, HTTP_IDEMPOTENCY_KEY=key)
    if answer.status_code >= 400:  # who was refused sends the file again, and has no use of this upload
        api_call(outer, "DELETE", reverse("api:upload", args=[upload]))
    return answer


def _content(payload: dict[str, Any]) -> bytes | None:
    """The file that came with the call; None for an upload. Raises the refusal `bad_argument`."""
    given = [name for name in ("upload", "text", "base64") if name in payload]
    if len(given) != 1:
        raise BAD_ARGUMENT(sentence="Give exactly one of `upload`, `text` and `base64`.")
    text = payload.pop(given[0]) if given[0] != "upload" else None
    if text is None:
        return None
    try:
        content = text.encode() if given[0] == "text" else base64.b64decode(text, validate=True)
    except (binascii.Error, UnicodeEncodeError) as error:
        raise BAD_ARGUMENT(sentence=f"`{given[0]}` cannot be read: {error}.") from error
    if len(content) > INLINE_BYTES:
        raise BAD_ARGUMENT(sentence=f"The file has more than {INLINE_BYTES:,} bytes. Upload it, then give `upload`.")
    return content


def _upload(outer: HttpRequest, file_name: str, content: bytes) -> HttpResponse:
    """The answer to the last of the two calls, or to the first that was refused."""
    announced = json.dumps({"file_name": file_name, "size_bytes": len(content)}).encode()
    begun = api_call(outer, "POST", reverse("api:uploads"), announced)
    if begun.status_code != 201:
        return begun
    kind = {"CONTENT_TYPE": "application/offset+octet-stream", "HTTP_UPLOAD_OFFSET": "0"}
    return api_call(outer, "PATCH", begun.headers["Location"], content, **kind)
