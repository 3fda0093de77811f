"""Citations of a board's snapshot: BibTeX for papers, schema.org's terms for search engines."""

import re
from collections.abc import Mapping
from datetime import datetime

from django.conf import settings

from competitions.catalog.models import Competition
from competitions.leaderboards.models import Snapshot

_SPECIAL = re.compile(r"[\\{}%&#$_~^]")


def _title(snapshot: Snapshot) -> str:
    document = snapshot.shown
    board = document["board"]["title"]
    part = document["phase"]["name"] + ("" if board == "Leaderboard" else f", {board}")
    return f"Leaderboard of {document['competition']['title']}: {part}, snapshot {snapshot.number}"


def bibtex(snapshot: Snapshot) -> str:
    """An entry of BibTeX; letters with a meaning in TeX are left out of names."""
    document, made_at = snapshot.shown, snapshot.created_at
    key = "-".join([document["competition"]["slug"], document["phase"]["slug"], f"snapshot{snapshot.number}"])
    fields = {
        "author": "{" + _SPECIAL.sub(" ", settings.BRAND.name) + "}",
        "title": "{" + _SPECIAL.sub(" ", _title(snapshot)) + "}",
        "year": f"{made_at:%Y}",
        "month": f"{made_at:%b}".lower(),
        "howpublished": f"\\url{{{document['url']}}}",
        "note": f"SHA-256 {snapshot.shown['digest']}",
    }
    return _entry(key, fields)


def results_bibtex(competition: Competition, address: str, ended_at: datetime) -> str:
    """An entry of BibTeX for a competition and its results."""
    fields = {
        "author": "{" + _SPECIAL.sub(" ", competition.host or settings.BRAND.name) + "}",
        "title": "{" + _SPECIAL.sub(" ", f"{competition.title}: results") + "}",
        "year": f"{ended_at:%Y}",
        "month": f"{ended_at:%b}".lower(),
        "howpublished": f"\\url{{{address}}}",
    }
    return _entry(f"{competition.slug}-results", fields)


def _entry(key: str, fields: Mapping[str, str]) -> str:
    lines = [f"  {name} = {value if name == 'month' else '{' + value + '}'}," for name, value in fields.items()]
    return "\n".join([f"@misc{{{key},", *lines, "}"])


def linked_data(snapshot: Snapshot) -> dict[str, object]:
    """A `Dataset` of https://schema.org in JSON-LD."""
    document = snapshot.shown
    return {
        "@context": "https://schema.org",
        "@type": "Dataset",
        "name": _title(snapshot),
        "description": f"{document['row_count']} rows of a leaderboard of a machine-learning competition, frozen and signed.",
        "url": document["url"],
        "identifier": f"sha256:{snapshot.shown['digest']}",
        "version": str(snapshot.number),
        "dateCreated": document["made_at"],
        "creator": {"@type": "Organization", "name": settings.BRAND.name, "url": settings.SITE_URL},
        "isAccessibleForFree": True,
        "distribution": {
            "@type": "DataDownload",
            "encodingFormat": "application/json",
            "contentUrl": f"{document['url']}file.json",
        },
    }
