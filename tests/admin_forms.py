"""The fields that a browser sends for an admin form: exactly those on the page, as filled in."""

from __future__ import annotations

from html.parser import HTMLParser
from typing import Any

from django.test import Client

Fields = dict[str, list[str]]
NO_DATA = ("submit", "file", "button", "search")


class _FormReader(HTMLParser):
    """Collects values of inputs, selects and text areas; a select without a choice has its first option."""

    def __init__(self) -> None:
        super().__init__()
        self.fields: Fields = {}
        self._select, self._multiple = "", False
        self._first: str | None = None
        self._area = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        name = attributes.get("name") or ""
        if tag == "input" and name and attributes.get("type") not in NO_DATA:
            if attributes.get("type") not in ("checkbox", "radio") or "checked" in attributes:
                ticked = (
                    "on" if attributes.get("type") == "checkbox" else ""
                )  # what a browser sends where there is no value
                self.fields.setdefault(name, []).append(attributes.get("value") or ticked)
        elif tag == "select" and name:
            self._select, self._first, self._multiple = name, None, "multiple" in attributes
        elif tag == "option" and self._select:
            self._option(attributes.get("value") or "", chosen="selected" in attributes)
        elif tag == "textarea" and name:
            self._area = name
            self.fields[name] = [""]

    def _option(self, value: str, *, chosen: bool) -> None:
        self._first = value if self._first is None else self._first
        if chosen:
            self.fields.setdefault(self._select, []).append(value)

    def handle_endtag(self, tag: str) -> None:
        if tag == "select" and self._select:
            if not self._multiple and self._select not in self.fields:
                self.fields[self._select] = [self._first or ""]
            self._select = ""
        elif tag == "textarea" and self._area:
            text = self.fields[self._area][0].replace("\r\n", "\n").removeprefix("\n")
            self.fields[self._area] = [text.replace("\n", "\r\n")]
            self._area = ""

    def handle_data(self, data: str) -> None:
        if self._area:
            self.fields[self._area][0] += data


def form_fields(response: Any) -> Fields:
    """Names and values of the page's form, without those that JavaScript alone would use."""
    reader = _FormReader()
    reader.feed(response.content.decode())
    return {name: values for name, values in reader.fields.items() if "__prefix__" not in name and name != "action"}


def save_form(client: Client, url: str, **changed: Any) -> Any:
    """Open a form, change fields (a list of values, or None to untick), send it; returns the answer."""
    fields = form_fields(client.get(url)) | {name: value for name, value in changed.items() if value is not None}
    for name, value in changed.items():
        if value is None:
            fields.pop(name, None)
    return client.post(url, fields)


def save_confirmed(client: Client, url: str, **changed: Any) -> Any:
    """Save with these changes, and once more as the page comes back that says what the change does."""
    confirm_page = save_form(client, url, **changed)
    assert "Save again to confirm it" in confirm_page.content.decode()
    return client.post(url, form_fields(confirm_page))


def form_errors(response: Any) -> dict[str, list[str]]:
    """The errors of the form that came back, by field."""
    form = response.context["adminform"].form
    return {name: [str(error) for error in errors] for name, errors in form.errors.items()}
