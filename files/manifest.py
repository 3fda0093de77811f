"""The commitment to a sealed board, and how anybody checks it: plain Python, no site and no network.

At the close a digest is published. It covers one leaf for each thing that decides the board: its columns, each task's
programs and data, and each counting submission with its exact scores. A leaf is an HMAC-SHA256 under a secret salt of 256 bits,
so that nobody finds a score by guessing; the digest is the SHA-256 of the sorted leaves. At the reveal the manifest is published:
salt, leaves, and the things themselves as they were at the close. `podium verify MANIFEST` makes every leaf again and rebuilds the board.

What changes after the close is an amendment: its date, its reason and the change. Its digest, published at once, is an HMAC
under the same salt over these and the digest before it, so that no amendment can be changed, left out or put in later.
"""

import argparse
import hashlib
import hmac
import json
import math
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, Literal, NotRequired, TextIO, TypedDict, get_args

FORMAT: Final = "podium-commitment/2"
EntryKey = Literal["submission", "team", "sha256", "received_at", "is_baseline", "scores"]
AmendmentKey = Literal["number", "made_at", "reason", "changes"]
ENTRY_KEYS: Final[tuple[EntryKey, ...]] = get_args(EntryKey)
AMENDMENT_KEYS: Final[tuple[AmendmentKey, ...]] = get_args(AmendmentKey)
MAX_BYTES: Final = 1 << 30


class Column(TypedDict):
    key: str
    title: str
    unit: str
    kind: str
    sorting: str
    precision: int
    rank_by_shown: bool
    is_relative: bool


class Board(TypedDict):
    competition: str
    phase: str
    key: str
    rule: str
    primary: str
    breaks_ties: bool
    columns: list[Column]


class Entry(TypedDict):
    submission: int
    team: str
    team_name: NotRequired[str]
    sha256: str
    received_at: str
    is_baseline: bool
    scores: dict[str, float]


class BoardRow(TypedDict):
    rank: int | None
    submission: int
    team: str


class Document(TypedDict):
    """Everything that decides a board. A change of one team has its entries alone."""

    board: NotRequired[Board]
    tasks: NotRequired[list[dict[str, str | None]]]
    entries: list[Entry]


class Changes(TypedDict, total=False):
    board: Board
    tasks: list[dict[str, str | None]]
    entries: list[Entry]
    removed: list[int]


class AmendmentContent(TypedDict):
    number: int
    made_at: str
    reason: str
    changes: Changes


class Amendment(AmendmentContent):
    digest: str


class Amended(Document):
    amendments: list[Amendment]


class Manifest(Amended):
    format: str
    digest: str
    committed_at: str
    salt: str
    leaves: list[str]
    unexplained: Changes
    rows: list[BoardRow]


class ManifestInvalid(Exception):
    """The file is not a manifest at all."""


def canonical(value: object) -> bytes:
    """One spelling for one value: JSON with sorted keys and no blanks.

    >>> canonical({"b": 0.1, "a": [1, None]})
    b'{"a":[1,null],"b":0.1}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode()


def leaf(salt: str, kind: str, item: object) -> str:
    """HMAC-SHA256 of one thing under the salt, in hexadecimal."""
    return hmac.new(bytes.fromhex(salt), canonical([kind, item]), hashlib.sha256).hexdigest()


def leaves_digest(leaves: Iterable[str]) -> str:
    """The digest that is published at the close."""
    return hashlib.sha256("\n".join(sorted(leaves)).encode()).hexdigest()


def committed_items(document: Document) -> list[tuple[str, str, object]]:
    """Everything that is committed to: kind, what people call it, and the thing itself."""
    entries = document["entries"]
    return [
        ("board", "the leaderboard's columns and rule", document["board"]),
        *(("task", f"the programs and data of task {task['name']!r}", task) for task in document["tasks"]),
        *(
            (
                "entry",
                f"submission #{entry['submission']} of {entry.get('team_name', 'a team')!r}",
                {key: entry[key] for key in ENTRY_KEYS},
            )
            for entry in entries
        ),
    ]


def commitment_leaves(document: Document, salt: str) -> list[str]:
    """Every leaf, sorted, so that their order tells nothing."""
    return sorted(leaf(salt, kind, item) for kind, _, item in committed_items(document))


def rank_value(column: Column, value: float) -> float:
    """The value that rows are ordered by, smaller is better: as shown, or with ten digits at least."""
    number: float = round(value, column["precision"] if column["rank_by_shown"] else max(column["precision"], 10))
    return number if column["sorting"] == "asc" else -number


def rebuilt(document: Document) -> list[BoardRow]:
    """The board from its entries: rank, submission and team, best first; baselines have no rank.

    Equal values share a rank, unless the board tells them apart by its other columns, then by time.
    """
    if not document["entries"]:
        return []
    valued = [(sort_key(document["board"], entry), entry) for entry in document["entries"]]
    ranked = sorted(value for value, entry in valued if not entry["is_baseline"])
    first = {value: place for place, value in reversed(list(enumerate(ranked, start=1)))}
    return [
        {
            "rank": None if entry["is_baseline"] else first[value],
            "submission": entry["submission"],
            "team": entry["team"],
        }
        for value, entry in sorted(valued, key=lambda pair: (pair[0], pair[1]["received_at"], pair[1]["submission"]))
    ]


def sort_key(board: Board, entry: Entry) -> tuple[object, ...]:
    """The rank's key of an entry, smaller is better: entries with the same one share a rank."""
    primary = next(column for column in board["columns"] if column["key"] == board["primary"])
    first = rank_value(primary, entry["scores"][primary["key"]])
    if not board["breaks_ties"]:
        return (first,)
    others = [column for column in board["columns"] if column["key"] != board["primary"] and not column["is_relative"]]
    values = (
        rank_value(column, entry["scores"][column["key"]]) if column["key"] in entry["scores"] else math.inf
        for column in others[:40]
    )
    return (first, *values, entry["received_at"], entry["submission"])


def manifest_faults(document: Manifest, *, digest: str = "", files: Sequence[Path] = ()) -> list[str]:
    """All that does not agree, in words; empty when the board is what was committed to.

    `digest`: one that was published, of the commitment or of an amendment, from wherever it was noted down. `files`: programs or
    data that must be among those committed to, byte for byte. Raises `ManifestInvalid`.
    """
    try:
        return [
            *_leaf_faults(document),
            *_digest_faults(document, digest),
            *_amendment_faults(document),
            *_board_faults(document),
            *_file_faults(document, files),
        ]
    except (KeyError, TypeError, ValueError, AttributeError, StopIteration, OverflowError) as error:
        raise ManifestInvalid(
            f"This is not a manifest of the format {FORMAT}: {type(error).__name__} {error}."
        ) from error


def amendment_digest(salt: str, previous: str, amendment: AmendmentContent) -> str:
    """The digest of an amendment. `previous`: that of the amendment before it, or of the commitment."""
    return leaf(salt, "amendment", [previous, *(amendment[key] for key in AMENDMENT_KEYS)])


def difference(before: Document, after: Document) -> Changes:
    """The difference as an amendment has it: board and tasks whole, and entries by submission."""
    old, new = ({entry["submission"]: entry for entry in document["entries"]} for document in (before, after))
    changes = Changes()
    if after.get("board") and after["board"] != before["board"]:
        changes["board"] = after["board"]
    if after.get("tasks") and after["tasks"] != before["tasks"]:
        changes["tasks"] = after["tasks"]
    if entries := [entry for number, entry in new.items() if number not in old or _differ(entry, old[number])]:
        changes["entries"] = entries
    if removed := sorted(set(old) - set(new)):
        changes["removed"] = removed
    return changes


def _differ(entry: Entry, other: Entry) -> bool:
    return any(entry.get(key) != other.get(key) for key in ENTRY_KEYS)


def amend(document: Document, changes: Changes) -> Document:
    """The document after the changes."""
    entries = {entry["submission"]: entry for entry in document["entries"]}
    entries |= {entry["submission"]: entry for entry in changes.get("entries", [])}
    left = set(changes.get("removed", []))
    return {
        "board": changes.get("board", document["board"]),
        "tasks": changes.get("tasks", document["tasks"]),
        "entries": [entries[number] for number in sorted(set(entries) - left)],
    }


def current(document: Amended) -> Document:
    """The document after all amendments."""
    result = amend(document, {})
    for amendment in document["amendments"]:
        result = amend(result, amendment["changes"])
    return result


def changes_in_words(changes: Changes) -> list[str]:
    """The changed parts, by name; they tell no score."""
    return [
        *(["the leaderboard's columns or rule"] if "board" in changes else []),
        *(["the programs or data of a task"] if "tasks" in changes else []),
        *(
            f"submission #{entry['submission']} of {entry.get('team_name', 'a team')!r}"
            for entry in changes.get("entries", [])
        ),
        *(f"submission #{number} (no longer counts)" for number in changes.get("removed", [])),
    ]


def _amendment_faults(document: Manifest) -> list[str]:
    faults, previous = [], document["digest"]
    for number, amendment in enumerate(document["amendments"], start=1):
        computed = amendment_digest(document["salt"], previous, amendment)
        if amendment["number"] != number or not hmac.compare_digest(computed, amendment["digest"]):
            faults.append(f"Amendment {number} is not the one whose digest {amendment['digest']} was published.")
        previous = amendment["digest"]
    unexplained = changes_in_words(document["unexplained"])
    return faults + [f"Changed after the close, without an amendment: {change}." for change in unexplained]


def _leaf_faults(document: Manifest) -> list[str]:
    if document["format"] != FORMAT:
        raise ManifestInvalid(
            f"The manifest's format is {str(document['format'])[:40]!r}; this program reads {FORMAT!r}."
        )
    left = set(document["leaves"])
    faults = []
    for kind, name, item in committed_items(document):
        computed = leaf(document["salt"], kind, item)
        if computed not in left:
            faults.append(f"{name} is not what was committed to, or is there twice.")
        left.discard(computed)
    if left:
        faults.append(f"{len(left)} of the things that were committed to are missing or were changed.")
    return faults


def _digest_faults(document: Manifest, digest: str) -> list[str]:
    computed, faults = leaves_digest(document["leaves"]), []
    if not hmac.compare_digest(computed, document["digest"]):
        faults.append(f"The leaves give the digest {computed}, the manifest says {document['digest']}.")
    published = {computed, *(amendment["digest"] for amendment in document["amendments"])}
    if digest and digest.strip().lower() not in published:
        faults.append(f"The manifest is for the digest {computed}, published was {digest.strip()[:80]}.")
    return faults


def _board_faults(document: Manifest) -> list[str]:
    stated = [BoardRow(rank=row["rank"], submission=row["submission"], team=row["team"]) for row in document["rows"]]
    computed = rebuilt(amend(current(document), document["unexplained"]))
    wrong = sum(row != other for row, other in zip(stated, computed, strict=False)) + abs(len(stated) - len(computed))
    return [f"{wrong} of {len(computed)} rows differ from the board that the entries give."] if wrong else []


def _file_faults(document: Manifest, files: Sequence[Path]) -> list[str]:
    tasks = [*document["tasks"], *current(document)["tasks"]]
    known = {value for task in tasks for value in task.values()}
    faults = []
    for path in files:
        with path.open("rb") as opened:
            actual = hashlib.file_digest(opened, "sha256").hexdigest()
        if f"sha256:{actual}" not in known:
            faults.append(f"{path.name} (sha256 {actual}) is none of the programs and data that were committed to.")
    return faults


def read_manifest(path: Path) -> Manifest:
    """Raises `ManifestInvalid`."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ManifestInvalid(f"{path.name} is larger than {MAX_BYTES:,} bytes.")
        document = json.loads(path.read_text("utf-8"))
    except OSError as error:
        raise ManifestInvalid(
            f"{path} cannot be read: {error.strerror}. Give the path of a downloaded manifest."
        ) from error
    except (ValueError, RecursionError) as error:
        raise ManifestInvalid(f"{path.name} is not JSON: {str(error)[:200]}") from error
    if not isinstance(document, dict):
        raise ManifestInvalid(f"{path.name} is JSON, but no manifest: it must be an object.")
    manifest: Manifest = document  # type: ignore[assignment]  # `manifest_faults` says where it is none
    return manifest


def main(
    arguments: Sequence[str],
    *,
    parser_type: type[argparse.ArgumentParser] = argparse.ArgumentParser,
    verify_snapshot: Callable[[Mapping[str, object], argparse.Namespace], int] | None = None,
) -> int:
    """`podium verify`: 0 the board is what was committed to, 1 it is not, 2 the file is not a manifest.

    `verify_snapshot` checks a snapshot of a board, which takes more than Python: without it only manifests are read.
    """
    parser = parser_type(
        prog="podium verify",
        description="Rebuild a revealed leaderboard from its manifest, or check a snapshot's signature.",
    )
    parser.add_argument("manifest", type=Path)
    parser.add_argument(
        "--digest", default="", help="a digest published at the close or with an amendment, as you noted it down"
    )
    parser.add_argument(
        "--key", default="", help="the key that a snapshot must be signed with, from the site's own page"
    )
    parser.add_argument("--file", type=Path, action="append", default=[], help="a program or data file to find in it")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    options = parser.parse_args(arguments)
    try:
        document = read_manifest(options.manifest)
        if verify_snapshot is not None and str(document.get("format", "")).startswith("podium-snapshot/"):
            return verify_snapshot(document, options)
        faults = manifest_faults(document, digest=options.digest, files=options.file)
    except (ManifestInvalid, OSError) as error:
        if options.json:
            print(json.dumps({"error": {"code": "no_manifest", "message": str(error), "exit_status": 2}}))
        else:
            say(f"podium verify: {error}", file=sys.stderr)
        return 2
    _report(document, faults, as_json=options.json, has_digest=bool(options.digest))
    return 1 if faults else 0


def _report(document: Manifest, faults: list[str], *, as_json: bool, has_digest: bool) -> None:
    if as_json:
        answer = {
            "ok": not faults,
            "digest": document["digest"],
            "committed_at": document["committed_at"],
            "amendments": document["amendments"],
            "faults": faults,
        }
        print(json.dumps(answer, indent=1))
        return
    for fault in faults:
        say(f"FAULT: {fault}")
    say(f"Committed on {document['committed_at']}: {len(document['leaves'])} parts, digest {document['digest']}")
    for amendment in document["amendments"]:
        changed = ", ".join(changes_in_words(amendment["changes"])) or "no row"
        say(f"Amendment {amendment['number']} on {amendment['made_at']}: {amendment['reason']}")
        say(f"  changed: {changed}; digest {amendment['digest']}")
    if not faults:
        rows = len(document["rows"])
        after = f" and {len(document['amendments'])} amendment(s)" if document["amendments"] else ""
        say(f"OK: {rows} row{'s' if rows != 1 else ''}, rebuilt from the commitment{after}.")
    if not has_digest:
        say("Compare it with the digest that was published at the close, or give that with --digest.")


def say(line: str, *, file: TextIO | None = None) -> None:
    """Print one line with words of others, without what steers a terminal."""
    print("".join(" " if char.isspace() else char if char.isprintable() else "\ufffd" for char in line), file=file)


if __name__ == "__main__":  # one file that needs nothing but Python: anybody can read it, and run it by itself
    sys.exit(main(sys.argv[1:]))
