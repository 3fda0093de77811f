"""A dashboard outside of the site, made of what the API says and nothing else.

python examples/cometh_small/dashboard/dashboard.py https://podium.example.org COMPETITION PHASE page.html
"""

import html
import json
import sys
from pathlib import Path
from typing import Any
from urllib.request import urlopen


def board(site: str, competition: str, phase: str) -> dict[str, Any]:
    """Every row of the leaderboard, page by page."""
    address = f"{site.rstrip('/')}/api/v1/competitions/{competition}/phases/{phase}/leaderboard/"
    whole, cursor = fetch(address), ""
    while cursor := whole.get("next_cursor") or "":
        more = fetch(f"{address}?cursor={cursor}")
        whole["rows"] += more["rows"]
        whole["next_cursor"] = more["next_cursor"]
    return whole


def fetch(address: str) -> dict[str, Any]:
    """One answer of the API."""
    with urlopen(address, timeout=30) as answer:
        content: dict[str, Any] = json.load(answer)
        return content


def by_algorithm(rows: list[dict[str, Any]], key: str = "mae") -> dict[str, list[float]]:
    """The values of one column for each task, over all datasets."""
    values: dict[str, list[float]] = {}
    for row in rows:
        for name, value in row["scores"].items():
            column, _, task = name.partition("@")
            if column == key and task:
                values.setdefault(task, []).append(float(value))
    return values


def page(leaderboard: dict[str, Any]) -> str:
    """A page with one bar for each algorithm: its mean error over all datasets, the best first."""
    means = {task: sum(values) / len(values) for task, values in by_algorithm(leaderboard["rows"]).items()}
    worst = max(means.values(), default=1.0) or 1.0
    bars = "".join(
        f"<tr><th>{html.escape(task)}</th><td><meter max='{worst:.4f}' value='{mean:.4f}'></meter></td><td>{mean:.4f}</td></tr>"
        for task, mean in sorted(means.items(), key=lambda item: item[1])
    )
    return f"<!doctype html><meta charset='utf-8'><title>{html.escape(leaderboard['title'])}</title><table>{bars}</table>\n"


def main(site: str, competition: str, phase: str, target: str) -> None:
    """Fetch the board and write the page."""
    Path(target).write_text(page(board(site, competition, phase)))


if __name__ == "__main__":
    main(*sys.argv[1:5])
