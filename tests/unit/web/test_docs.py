"""Claims of the pages for participants and organizers that can be checked against the code."""

import re
from pathlib import Path

import pytest
import yaml
from django.urls import resolve

from competitions.catalog.models import Agents
from competitions.submissions.states import REASONS, Blame, Reason, State
from files.bundles import schema
from files.bundles.schema import CompetitionSpec
from scripts.docs.sources import DocsInvalid, add_navigation, stage_pages
from workers.agent.runs.command import read_command
from workers.protocol.images import PACKAGES, PYTHON
from workers.sandbox.scores import read_scores

DOCS = Path(__file__).resolve().parents[3] / "docs"
PARTICIPANTS, ORGANIZERS = (DOCS / f"{name}.md" for name in ("participants", "organizers"))


@pytest.mark.parametrize("reason", Reason)
def test_the_table_of_verdicts_has_every_reason_and_its_price(reason: Reason) -> None:
    row = re.search(rf"\| failed: {re.escape(reason.label)} \|[^|]*\| (yes|no) \|", PARTICIPANTS.read_text())
    assert row, reason
    has_run = reason != Reason.FILE_INVALID
    assert (row[1] == "yes") == REASONS[reason].charged == (REASONS[reason].blame == Blame.PARTICIPANT and has_run)


@pytest.mark.parametrize("state", [state for state in State if state != State.FAILED])
def test_the_table_of_verdicts_has_every_state(state: State) -> None:
    assert re.search(rf"^\| ([^|]*, )?{state.label}[ ,|]", PARTICIPANTS.read_text(), re.MULTILINE), state


def test_the_bundle_of_the_example_is_one() -> None:
    text = re.search(r"```yaml\n(.*?)```", ORGANIZERS.read_text(), re.DOTALL)
    assert text
    assert CompetitionSpec.model_validate(yaml.safe_load(text[1])).podium.slug == "pcqm4mv2-small"


def test_every_call_of_the_examples_has_a_url() -> None:
    calls = re.findall(r"\$PODIUM(/[^\s`]+)", PARTICIPANTS.read_text())
    assert len(calls) >= 10
    for call in calls:
        resolve("/api/v1" + call.replace("KEY", "00000000-0000-0000-0000-000000000000"))


SECTIONS: dict[str, type[schema.Spec]] = {
    "Competition": schema.CompetitionSpec,
    "Page": schema.PageSpec,
    "Task": schema.TaskSpec,
    "Phase": schema.PhaseSpec,
    "Leaderboard": schema.LeaderboardSpec,
    "Column": schema.ColumnSpec,
    "Question of the fact sheet": schema.QuestionSpec,
    "podium of the competition": schema.CompetitionExtra,
    "podium of a phase": schema.PhaseExtra,
    "podium of a task": schema.TaskExtra,
}


@pytest.mark.parametrize("title", SECTIONS)
def test_the_bundle_reference_has_every_key_and_no_other(title: str) -> None:
    text = (DOCS / "bundles.md").read_text()
    section = text.split(f"\n## {title}\n")[1].split("\n## ")[0]
    keys = set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))
    assert keys == set(SECTIONS[title].model_fields) - {"where"}


@pytest.mark.parametrize("title", SECTIONS)
def test_the_bundle_reference_names_the_defaults(title: str) -> None:
    section = (DOCS / "bundles.md").read_text().split(f"\n## {title}\n")[1].split("\n## ")[0]
    defaults = dict(re.findall(r"^\| `(\w+)` \| ([^|]*?) \|", section, re.MULTILINE))
    for name, field in SECTIONS[title].model_fields.items():
        if name == "where":
            continue
        if isinstance(field.default, bool | int):
            assert defaults[name] == str(field.default).lower(), name
        elif isinstance(field.default, str) and field.default:
            assert defaults[name] == field.default, name
        elif field.is_required():
            assert defaults[name] == "required", name


def test_the_page_on_programs_has_every_word_that_a_run_is_refused_by() -> None:
    table = (DOCS / "programs.md").read_text().split("\n## What goes wrong\n")[1].split("\n## ")[0]
    named = set(re.findall(r"`([a-z]+_[a-z_]+)`", table))
    for function in (read_scores, read_command):
        words = set(re.findall(r"`([a-z]+_[a-z_]+)`", (function.__doc__ or "").split("Raises")[1]))
        assert words
        assert words <= named
    sources = [
        path.read_text() for folder in ("workers", "competitions") for path in (DOCS.parent / folder).rglob("*.py")
    ]
    unknown = {
        word for word in named - {"execution_time_limit"} if not any(f'"{word}"' in source for source in sources)
    }
    assert unknown == set()


def test_skill_and_docs_name_each_setting_for_agents() -> None:
    for path in (DOCS.parent / "client/podium/SKILL.md", DOCS / "agents.md"):
        assert [value for value in Agents.values if f"`{value}`" not in path.read_text()] == [], path


def test_the_page_on_programs_has_the_packages_of_the_images() -> None:
    text = (DOCS / "programs.md").read_text().split("\n| Placeholder |")[0]
    assert [name for packages in PACKAGES.values() for name in packages if name not in text] == []
    assert PYTHON in text


def test_every_setting_and_every_metric_that_administrators_read_of_is_there_and_no_setting_is_left_out() -> None:
    text, site = (DOCS / "administrators.md").read_text(), DOCS.parent / "platform/config"
    settings = set(re.findall(r'"(PODIUM_[A-Z_]+)"', (site / "settings.py").read_text()))
    stack = set(re.findall(r"\$\{(PODIUM_[A-Z_]+)", (DOCS.parent / "docker-compose.yml").read_text()))
    named = set(re.findall(r"PODIUM_[A-Z_]+", text))
    assert settings <= named <= settings | stack
    metrics = set(re.findall(r'"(podium_[a-z_]+)"', (site / "metrics.py").read_text()))
    assert set(re.findall(r"podium_[a-z_]+", text)) <= metrics | {f"{name}_total" for name in metrics}


AREAS = {  # the first part of a way through the pages -> where the others stand
    "Host": "templates/organize/guided/start.html",
    "Profile": "templates/accounts/*.html templates/web/people/*.html",
    "Team": "templates/web/teams/*.html",
    **dict.fromkeys(
        ("Boards", "Data", "Organize", "Pages", "Phases", "Proposals", "Questions", "Settings"),
        "templates/organize/**/*.html ../competitions/organize/workspace/settings.py ../competitions/catalog/models/sections/*.py",
    ),
}


def test_every_way_through_the_pages_is_there() -> None:
    """Ways are written as *Host > Your queues*."""
    texts = {path.name: " ".join(path.read_text().split()) for path in DOCS.glob("*.md")}
    ways = [
        (name, [part.strip() for part in way.split(" > ")])
        for name, text in texts.items()
        for way in re.findall(r"\*([A-Z][^*|`]*? > [^*|`]+?)\*", text)
    ]
    assert len(ways) > 30
    for name, (area, *parts) in ways:
        assert area in AREAS, (name, area, parts)
        files = [path for pattern in AREAS[area].split() for path in (DOCS.parent / "platform").glob(pattern)]
        page = "\n".join(path.read_text() for path in files)
        missing = [part for part in parts if not re.search(rf"[>}}\"\s]{re.escape(part)}[<\"{{]", page)]
        assert missing == [], (name, area)


def test_pictures_and_diagrams_follow_the_scheme_of_the_reader_and_names_of_files_become_links(tmp_path: Path) -> None:
    stage_pages(DOCS, tmp_path)
    participants, isolation = ((tmp_path / f"{name}.md").read_text() for name in ("participants", "isolation"))
    assert "<picture>" not in participants
    assert "](pictures/home-light.webp){.picture .for-light .half}" in participants
    assert '<svg class="diagram" role="img" aria-label="Participants\' code' in isolation
    assert "<style>" not in isolation
    assert "(reporting.md)" in (tmp_path / "security.md").read_text()
    assert "[](/reference/program.md)" in (tmp_path / "index.md").read_text()


def test_a_page_that_no_list_of_the_index_has_is_named(tmp_path: Path) -> None:
    (tmp_path / "index.md").write_text("# Docs\n\n## Reference\n\n* [A](a.md)\n")
    (tmp_path / "a.md").write_text("# A\n")
    add_navigation(tmp_path)
    assert ":caption: Reference\n\na\n```" in (tmp_path / "index.md").read_text()
    (tmp_path / "b.md").write_text("# B\n")
    with pytest.raises(DocsInvalid, match=r"docs/index.md lists no page b:"):
        add_navigation(tmp_path)
