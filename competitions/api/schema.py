"""The scope of the OpenAPI document."""

from typing import Any

Endpoints = list[tuple[str, str, str, Any]]


def native_api_only(endpoints: Endpoints, **kwargs: Any) -> Endpoints:
    """The document describes `/api/v1/`; the worker protocol has a page of its own."""
    return [endpoint for endpoint in endpoints if endpoint[0].startswith("/api/v1/")]
