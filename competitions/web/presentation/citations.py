"""Citations of a board's snapshot: BibTeX for papers, schema.org's terms for search engines."""

import re
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
    document = snapshot.shown
    key = "-".join([document["competition"]["slug"], document["phase"]["slug"], f"snapshot{snapshot.number}"])
    author, note = settings.BRAND.name, f"SHA-256 {document['digest']}"
    return _entry(key, author, _title(snapshot), document["url"], snapshot.created_at, note=note)


def results_bibtex(competition: Competition, address: str, ended_at: datetime) -> str:
    """An entry of BibTeX for a competition and its results."""
    author, title = competition.host or settings.BRAND.name, f"{competition.title}: results"
    return _entry(f"{competition.slug}-results", author, title, address, ended_at)


def _entry(key: str, author: str, title: str, address: str, at: datetime, *, note: str = "") -> str:
    fields = {
        "author": "{{" + _SPECIAL.sub(" ", author) + "}}",
        "title": "{{" + _SPECIAL.sub(" ", title) + "}}",
        "year": f"{{{at:%Y}}}",
        "month": f"{at:%b}".lower(),
        "howpublished": f"{{\\url{{{address}}}}}",
    }
    if note:
        fields["note"] = f"{{{note}}}"
    return "\n".join([f"@misc{{{key},", *(f"  {name} = {value}," for name, value in fields.items()), "}"])


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
