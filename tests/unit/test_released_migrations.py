"""The list of released migrations, by which lint refuses one that was edited."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.checks.released_migrations import RELEASED, faults, release

FIRST = Path("competitions/catalog/migrations/0001_initial.py")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout that was released as 0.1.0 with one migration."""
    for folder in (FIRST.parent, RELEASED.parent):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / FIRST).write_text("first = 1\n")
    release(tmp_path, "0.1.0")
    return tmp_path


def test_an_edited_and_a_removed_migration_are_named_with_what_to_do(checkout: Path) -> None:
    assert faults(checkout) == []
    (checkout / FIRST).write_text("first = 2\n")
    (edited,) = faults(checkout)
    assert edited.startswith(f"{FIRST} was edited, but 0.1.0 was released with it.")
    (checkout / FIRST).unlink()
    assert "is gone" in faults(checkout)[0]


def test_a_release_notes_the_new_migrations_alone(checkout: Path) -> None:
    (checkout / FIRST.with_name("0002_more.py")).write_text("second = 1\n")
    assert faults(checkout) == [], "a new one is nobody's yet"
    release(checkout, "0.2.0")
    (checkout / FIRST.with_name("0002_more.py")).write_text("second = 2\n")
    assert "0002_more.py was edited, but 0.2.0" in faults(checkout)[0]


def test_texts_that_are_in_no_table_may_be_edited(checkout: Path) -> None:
    """A table is made of everything else."""
    code = (
        'field = CharField({0!r}, max_length={1}, help_text={2!r})\nmodel = {{"options": {{"verbose_name": {2!r}}}}}\n'
    )
    (checkout / FIRST.with_name("0002_more.py")).write_text(code.format("a", 9, "Empty: none."))
    release(checkout, "0.2.0")
    (checkout / FIRST.with_name("0002_more.py")).write_text("# Read again.\n" + code.format("a", 9, "Leave it empty."))
    assert faults(checkout) == []
    (checkout / FIRST.with_name("0002_more.py")).write_text(code.format("a", 10, "Empty: none."))
    assert "0002_more.py was edited, but 0.2.0" in faults(checkout)[0]
