"""Only competitions/disclosure decides who sees what is sealed or withheld."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
DISCLOSURE = "competitions/disclosure/"
# States and rights that a decision would be made from, and who reads them for another reason: to define, configure or change them.
STATES = {
    "can_see_sealed",
    "has_sealed_keys",
    "holds_sealed_scores",
    "is_sealed",
    "is_set_sealed",
    "keys_on_record",
    "sealed_keys",
    "was_sealed",
}
MAY_READ_STATES = {
    "competitions/catalog/models/board.py": "defines them",
    "competitions/catalog/models/competition.py": "defines the right",
    "competitions/catalog/models/phase.py": "defines them",
    "competitions/catalog/sealed_keys.py": "keeps the record",
    "competitions/catalog/services.py": "reveals",
    "competitions/catalog/organizers.py": "lets administrators alone give the right",
    "competitions/catalog/changes/phases.py": "refuses what would open a seal",
    "competitions/catalog/changes/board_rules.py": "refuses what would open a seal",
    "competitions/catalog/queue_rights.py": "keeps sealed scores from queues whose owner may not see them",
    "competitions/bundles/pushing/review.py": "refuses what would open a seal",
    "competitions/organize/editing/deletions.py": "keeps a board whose scores were recorded under its seal",
    "competitions/leaderboards/reading/results.py": "reads the record ahead",
    "competitions/leaderboards/commitment.py": "publishes what changes after that",
    "competitions/leaderboards/sealing.py": "commits to sealed boards, and reveals",
    "competitions/teams/endings.py": "ends merges and joining with a sealed phase",
    "competitions/api/serializers/competitions.py": "publishes that a phase is sealed",
}
# An organizer's settings on outputs, likewise.
SETTINGS = {
    "hide_output",
    "hide_prediction_output",
    "hide_score_output",
    "show_output_while_sealed",
    "shows_slices",
    "show_detailed_results_in_leaderboard",
    "show_detailed_results_in_submission_panel",
}
MAY_READ_SETTINGS = {
    "competitions/catalog/models/": "defines them",
}
TEMPLATES_THAT_SAY_SEALED = {
    "_phase_table.html",
    "_phase_tabs.html",
    "board.html",
    "boards.html",
    "leaderboard.html",
    "phases.html",
    "settings.html",  # lists organizers with the right that administrators give
}


def modules() -> Iterator[Path]:
    for folder in ("competitions", "platform"):
        yield from (path for path in (ROOT / folder).rglob("*.py") if "migrations" not in path.parts)


@cache
def names_in(path: Path) -> set[str]:
    """Attributes, arguments and lookups of a module, by name."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute):
            names.add(node.attr)
        elif isinstance(node, ast.keyword) and node.arg:
            names.update(node.arg.split("__"))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            names.update(node.value.split("__"))
        elif isinstance(node, ast.AnnAssign | ast.Assign):
            targets = [node.target] if isinstance(node, ast.AnnAssign) else node.targets
            names.update(target.id for target in targets if isinstance(target, ast.Name))
    return names


@pytest.mark.parametrize(
    ("names", "allowed"), [(STATES, MAY_READ_STATES), (SETTINGS, MAY_READ_SETTINGS)], ids=["states", "settings"]
)
def test_only_disclosure_reads_what_decides(names: set[str], allowed: dict[str, str]) -> None:
    readers = {str(path.relative_to(ROOT)) for path in modules() if names & names_in(path)}
    deciders = {name for name in readers if not name.startswith((DISCLOSURE, *allowed))}
    assert not deciders, "ask competitions.disclosure instead"
    assert not [name for name in allowed if not any(reader.startswith(name) for reader in readers)], "reads none"


def test_templates_show_that_something_is_sealed_and_decide_nothing_else() -> None:
    templates = {
        path.name
        for path in (ROOT / "platform").rglob("*.html")
        if re.search(rf"\b({'|'.join(STATES)})\b", path.read_text())
    }
    assert templates == TEMPLATES_THAT_SAY_SEALED
