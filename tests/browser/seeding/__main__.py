"""Fills an empty site for the browser tests: `python -m tests.browser.seeding FOLDER`.

It collects the static files, too. It runs in the site's environment before the servers start: the tests
themselves never touch the database.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import django

from tests.browser.seeding.features import (
    busy_board,
    detailed_results,
    join_for_uploads,
    merges,
    questions,
    series,
    slices,
    verdicts,
    webhooks,
)
from tests.browser.seeding.finals import finals, over
from tests.browser.seeding.place import competition, pages, person, phases


def fill(folder: Path, now: datetime) -> None:
    from competitions.catalog.models import CompetitionOrganizer
    from competitions.compute.models import ComputeWorker, Queue, issue_token
    from tests.browser.seeding.crowd import crowd
    from tests.browser.seeding.discussion import discussion
    from tests.browser.seeding.features import annotated_rows, launcher
    from tests.browser.seeding.growing_boards import growing_boards
    from tests.browser.seeding.smoke_runs import smoke_runs

    queue = Queue.objects.create(name="default", contact="Compute group, compute@example.org")
    cluster = Queue.objects.create(name="cluster", contact="Cluster team, room 4.12")
    organizer = person("olga", "Olga Maier", is_staff=True)
    person("rita", "Rita Root", is_staff=True, is_superuser=True)
    gap = competition(
        "gap",
        "HOMO-LUMO gap",
        organizer,
        queue,
        now,
        subtitle="From SMILES to electronvolts",
        host="Institute of Gaps",
        reward="5,000 euros and a talk at the workshop",
        contact_email="gaps@example.org",
    )
    phases(gap)
    pages(gap)
    busy_board(gap)
    ComputeWorker.objects.all().delete()  # the tests' own worker is the only one
    CompetitionOrganizer.objects.filter(competition=gap.competition).update(can_see_sealed=False)
    waiting = competition("cluster", "Cluster benchmark", organizer, cluster, now)
    phases(waiting)
    verdicts(waiting)
    series(gap, waiting)
    questions(waiting)
    merges(gap)
    webhooks(gap)
    discussion(gap)
    last = competition("finals", "Finals", organizer, Queue.objects.create(name="finals"), now)
    phases(last)
    finals(last)
    detailed_results(last, "test-challenge")
    slices(last, "test-challenge")
    competition("quiet", "A quiet competition", organizer, queue, now)
    planned = competition("draft", "Not out yet", organizer, queue, now, is_published=False).competition
    planned.publish_at = now + timedelta(days=3)
    planned.save()
    growing_boards(organizer, now)
    crowd(organizer, Queue.objects.create(name="crowd"), now)
    smoke_runs(organizer, now)
    ended = competition(
        "over", "All is over", organizer, Queue.objects.create(name="over"), now, host="Institute of Ends"
    )
    phases(ended)
    over(ended)
    transfers = competition("transfers", "Large files", organizer, Queue.objects.create(name="transfers"), now)
    phases(transfers)
    join_for_uploads(transfers)
    launcher(cluster, now)
    annotated_rows(gap)
    for name in ("sam", "mia", "pia", "uwe", "quin", "rosa"):  # each test signs in as its own
        person(name)
    for name, team in (("kim", "Kimchi"), ("lena", "Lena"), ("mika", "Mika"), ("otto", "Otto")):
        gap.join(person(name), team)
    (folder / "queue_token").write_text(issue_token(queue))
    (folder / "queue_token").chmod(0o600)


def main() -> None:
    django.setup()
    from django.core.management import call_command
    from django.db import transaction

    from tests.background import files_read_here

    call_command("collectstatic", interactive=False, verbosity=0)
    with transaction.atomic(), files_read_here():
        fill(Path(sys.argv[1]), datetime.now(UTC))


if __name__ == "__main__":
    main()
