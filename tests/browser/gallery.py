"""Pictures of every page: `python -m tests.browser.gallery FOLDER [parts of names]`.

Each at 1440 and 390 pixels, light and dark, with empty pages, errors and long texts among them.
"""

from __future__ import annotations

import io
import itertools
import re
import sys
import tempfile
import uuid
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import django
from playwright.sync_api import Browser, sync_playwright

from tests import services

django.setup()  # what is seeded is named by modules that import the site's models

from tests.browser.seeding.features import WEBHOOK  # noqa: E402
from tests.browser.seeding.finals import CERTIFICATE, WINNER  # noqa: E402
from tests.browser.seeding.place import PASSWORD  # noqa: E402
from tests.browser.site import BrowserSite  # noqa: E402
from tests.browser.visitor import Visitor  # noqa: E402
from tests.migrated import postgres_database  # noqa: E402
from tests.scenario import zip_bytes  # noqa: E402

SIZES = {"wide": (1440, 900), "phone": (390, 844)}
GAP, CLUSTER, FINALS = "/competitions/gap", "/competitions/cluster", "/competitions/finals"
# Name -> who looks ("" for nobody signed in), and at what.
PAGES: dict[str, tuple[str, str]] = {
    "index": ("", "/"),
    "index-signed-in": ("ada", "/"),
    "index-organizer": ("olga", "/"),
    "overview-organizer": ("olga", f"{GAP}/"),
    "leaderboard-organizer": ("olga", f"{GAP}/leaderboard/"),
    "styleguide": ("", "/styleguide/"),
    "me": ("ada", "/me/"),
    "profile-public": ("ada", "/profile/public/"),
    "profile-data": ("ada", "/profile/data/"),
    "profile-delete": ("ada", "/profile/delete/"),
    "profile-delete-organizer": ("olga", "/profile/delete/"),
    "person": ("", "/people/ada/"),
    "person-member": ("cleo", "/people/ada/"),
    "person-report": ("cleo", "/people/ada/report/"),
    "profile-blocked": ("cleo", "/profile/blocked/"),
    "me-organizer": ("olga", "/me/"),
    "me-new": ("rita", "/me/"),
    "notifications": ("ada", "/notifications/"),
    "notifications-none": ("rita", "/notifications/"),
    "notification-preferences": ("ada", "/notifications/preferences/"),
    "notification-preferences-own": ("ada", "/notifications/preferences/?competition=gap"),
    "host": ("olga", "/host/"),
    "host-ask": ("sam", "/host/"),
    "workspace": ("olga", "/host/competitions/gap/"),
    "workspace-submissions": ("olga", "/host/competitions/gap/submissions/"),
    **{
        f"workspace-{name}": ("olga", f"/host/competitions/gap/{path}")
        for name, path in {
            "teams": "teams/",
            "teams-none": "teams/?team=nobody",
            "registrations": "registrations/",
            "announcements": "announcements/",
            "announcement": "announcements/new/",
            "webhooks": "webhooks/",
            "mail": "mail/",
            "settings": "settings/",
            "pages": "pages/",
            "page-new": "pages/new/",
            "page": "pages/1/",
            "images": "images/",
            "rules": "rules/",
            "phases": "phases/",
            "phase-new": "phases/new/",
            "phase": "phases/1/",
            "boards": "boards/",
            "board": "boards/1/",
            "data": "data/",
            "task": "tasks/1/",
            "task-new": "tasks/new/",
            "task-delete": "tasks/1/delete/",
            "board-delete": "boards/1/delete/",
            "board-delete-sealed": "boards/2/delete/",
        }.items()
    },
    "workspace-questions": ("olga", f"/host{CLUSTER}/questions/"),
    "workspace-questions-empty": ("olga", "/host/competitions/quiet/questions/"),
    "workspace-question": ("olga", f"/host{CLUSTER}/questions/registration/1/"),
    "workspace-fact-question-new": ("olga", f"/host{CLUSTER}/questions/fact-sheet/new/"),
    "workspace-boards-crowd": ("olga", "/host/competitions/crowd/boards/"),
    "workspace-lane": ("olga", "/host/competitions/gap/boards/1/winners/"),
    "own-files": ("olga", "/host/files/"),
    "own-queues": ("rita", "/host/queues/"),
    "own-queues-empty": ("olga", "/host/queues/"),
    "own-queue": ("rita", "/host/queues/default/"),
    "own-queue-cluster": ("rita", "/host/queues/cluster/"),
    "workspace-compute": ("olga", "/host/competitions/cluster/usage/"),
    "workspace-compute-empty": ("olga", "/host/competitions/draft/usage/"),
    "own-queue-settings": ("rita", "/host/queues/default/settings/"),
    "own-series": ("olga", "/host/series/"),
    "own-series-new": ("olga", "/host/new/series/"),
    "workspace-settings-draft": ("olga", "/host/competitions/draft/settings/"),
    "workspace-empty-teams": ("olga", "/host/competitions/draft/teams/"),
    "workspace-empty-announcements": ("olga", "/host/competitions/draft/announcements/"),
    "workspace-pages-empty": ("olga", "/host/competitions/quiet/pages/"),
    "own-tab": ("", f"{GAP}/pages/frequent-questions/"),
    "bundles": ("olga", "/organize/bundles/"),
    "series": ("", "/series/graphs/"),
    "rules-with-questions": ("sam", f"{CLUSTER}/rules/"),
    "team-merge-received": ("dan", f"{GAP}/team/"),
    "team-merge-proposed": ("ben", f"{GAP}/team/"),
    "overview": ("", f"{GAP}/"),
    "overview-checklist": ("olga", "/competitions/draft/"),
    "overview-quiet": ("", "/competitions/quiet/"),
    "data": ("", f"{GAP}/data/"),
    "data-member": ("ada", f"{GAP}/data/"),
    "data-empty": ("", "/competitions/quiet/data/"),
    "rules": ("", f"{GAP}/rules/"),
    "conduct": ("", f"{GAP}/how-it-is-run/"),
    "rules-to-accept": ("sam", f"{GAP}/rules/"),
    "leaderboard": ("", f"{GAP}/leaderboard/"),
    "leaderboard-own-row": ("cleo", f"{GAP}/leaderboard/"),
    "leaderboard-sealed": ("ada", f"{GAP}/leaderboard/?phase=test-challenge"),
    "leaderboard-empty": ("", "/competitions/quiet/leaderboard/"),
    "history": ("ada", f"{GAP}/leaderboard/history/?phase=test-dev"),
    "discussion": ("", f"{GAP}/discussion/"),
    "discussion-member": ("ada", f"{GAP}/discussion/?show=followed"),
    "discussion-empty": ("olga", "/competitions/quiet/discussion/"),
    "discussion-nothing-fits": ("ada", f"{GAP}/discussion/?q=unheard"),
    "topic": ("ada", f"{GAP}/discussion/1/"),
    "topic-organizer": ("olga", f"{GAP}/discussion/1/"),
    "topic-long": ("", f"{GAP}/discussion/2/?at=20"),
    "topic-locked": ("ada", f"{GAP}/discussion/3/"),
    "topic-folded": ("cleo", f"{GAP}/discussion/7/"),
    "topic-new": ("ada", f"{GAP}/discussion/new/"),
    "topic-new-excluded": ("dan", f"{GAP}/discussion/new/"),
    "post-edit": ("ada", f"{GAP}/discussion/posts/1/edit/"),
    "post-history": ("ada", f"{GAP}/discussion/posts/1/history/"),
    "post-report": ("ada", f"{GAP}/discussion/posts/2/report/"),
    "workspace-discussion": ("olga", f"/host{GAP}/discussion/"),
    "team-none": ("sam", f"{GAP}/team/"),
    "team": ("ada", f"{GAP}/team/"),
    "webhooks": ("ada", f"{GAP}/team/webhooks/"),
    "webhook": ("ada", f"/webhooks/{WEBHOOK}/"),
    "environment": ("ada", f"{GAP}/team/environment/"),
    "finals": ("gina", f"{FINALS}/submissions/finals/test-dev/private/"),
    "submissions": ("fred", f"{CLUSTER}/submissions/"),
    "submissions-scores": ("ada", f"{GAP}/submissions/"),
    "submissions-tag": ("ada", f"{GAP}/submissions/?tag=gin"),
    "submissions-tag-none": ("ada", f"{GAP}/submissions/?tag=nothing"),
    "submission-compared": ("ada", f"{GAP}/submissions/2/compare/"),
    "submissions-sealed": ("ada", f"{GAP}/submissions/?phase=test-challenge"),
    "submissions-none-failed": ("ada", f"{GAP}/submissions/?show=failed"),
    "board-facts": ("gina", f"{FINALS}/leaderboard/?phase=test-dev&sort=rmse"),
    "board-private": ("gina", f"{FINALS}/leaderboard/?phase=test-dev&board=private"),
    "board-revealed": ("", f"{FINALS}/leaderboard/?phase=test-challenge"),
    "board-growing": ("", "/competitions/both/leaderboard/"),
    "board-growing-own": ("hedi", "/competitions/both/leaderboard/?sets=2"),
    "board-growing-transposed": ("", "/competitions/both/leaderboard/?board=transposed"),
    "board-growing-empty": ("", "/competitions/both-empty/leaderboard/"),
    "submit-code-or-data": ("hedi", "/competitions/both/submissions/"),
    "smoke-runs": ("sana", "/competitions/mini/submissions/"),
    "smoke-data": ("sana", "/competitions/mini/data/"),
    "board-crowd": ("", "/competitions/crowd/leaderboard/"),
    "board-crowd-own": ("cora", "/competitions/crowd/leaderboard/?q=gra"),
    "snapshots": ("olga", "/competitions/crowd/leaderboard/test-dev/main/snapshots/"),
    "snapshot": ("", "/competitions/crowd/leaderboard/test-dev/main/snapshots/1/"),
    "proposals": ("olga", "/host/competitions/crowd/proposals/"),
    "proposals-none": ("olga", "/host/competitions/quiet/proposals/"),
    "proposal-applied": ("olga", "/host/competitions/crowd/proposals/1/"),
    "proposal-compared": ("olga", "/host/competitions/crowd/proposals/2/"),
    "proposal-draft": ("olga", "/host/competitions/crowd/proposals/3/"),
    "changes": ("", "/competitions/crowd/changes/"),
    "changes-none": ("", "/competitions/quiet/changes/"),
    "change": ("cora", "/competitions/crowd/changes/1/"),
    "embed": ("", "/competitions/crowd/leaderboard/test-dev/main/embed/"),
    "costs": ("cora", "/competitions/crowd/leaderboard/test-dev/main/costs/?cost=hits&weight=30"),
    "costs-wrong": ("gina", f"{FINALS}/leaderboard/test-challenge/main/costs/?cost=fact:params&most=nonsense"),
    "costs-none": ("", f"{FINALS}/leaderboard/test-challenge/main/costs/?most=-1"),
    "uncertainty": ("cora", "/competitions/crowd/leaderboard/test-dev/main/uncertainty/"),
    "uncertainty-none": ("", f"{GAP}/leaderboard/test-dev/main/uncertainty/"),
    "history-crowd": ("cora", "/competitions/crowd/leaderboard/history/"),
    "shake-up": ("gina", f"{FINALS}/leaderboard/test-challenge/main/shake-up/"),
    "reveal-preview": ("olga", f"{FINALS}/reveal/test-dev/"),
    "results": ("olaf", "/competitions/over/results/"),
    "results-none": ("", f"{GAP}/results/"),
    "certificate": ("", f"/certificates/{CERTIFICATE}/"),
    "board-of-agents": ("", "/competitions/over/leaderboard/?phase=test-dev&board=agents"),
    "winners": ("olga", f"{FINALS}/winners/test-challenge/main/"),
    "winners-place": ("olga", f"/winners/{WINNER}/"),
    "submit-with-fact-sheet": ("gina", f"{FINALS}/submissions/?phase=test-dev"),
    "profile": ("ada", "/profile/"),
    "login": ("", "/accounts/login/"),
    "signup": ("", "/accounts/signup/"),
    "password-reset": ("", "/accounts/password/reset/"),
    "password-reset-bad-link": ("", "/accounts/password/reset/key/1-bad-link/"),
    "confirm-bad-link": ("", "/accounts/confirm-email/nonsense/"),
    "email": ("ada", "/accounts/email/"),
    "confirm-password": ("ada", "/accounts/reauthenticate/?next=/profile/"),
    "password-change": ("ada", "/accounts/password/change/"),
    "mfa": ("ada", "/accounts/2fa/"),
    "mfa-activate": ("ada", "/accounts/2fa/totp/activate/"),
    "logout": ("ada", "/accounts/logout/"),
    "not-found": ("", "/competitions/no-such-thing/"),
    "admin": ("olga", "/admin/"),
    "admin-competition": ("rita", "/admin/catalog/competition/1/change/"),
    "admin-competitions": ("rita", "/admin/catalog/competition/"),
    "admin-phase": ("olga", "/admin/catalog/phase/1/change/"),
    "admin-submission": ("rita", "/admin/submissions/submission/1/change/"),
    "admin-phase-growing": ("olga", "/admin/catalog/phase/7/change/"),
    "admin-runs": ("rita", "/admin/runs/run/"),
    "admin-queue": ("rita", "/admin/compute/queue/2/change/"),
    "admin-launcher": ("rita", "/admin/compute/launcher/1/change/"),
    "admin-workers": ("rita", "/admin/compute/computeworker/"),
    "admin-place": ("rita", "/admin/winners/place/1/change/"),
    "admin-empty": ("rita", "/admin/catalog/sealeduse/"),
    "forbidden": ("ada", "/organize/bundles/"),
}
# Pages that a template makes as one of those, with other rows and values alone: for their pictures.
ALIKE: dict[str, tuple[str, str]] = {
    "board-search-inside": ("", "/competitions/crowd/leaderboard/?q=ent+desc"),
    "admin-competition-draft": ("rita", "/admin/catalog/competition/5/change/"),
    "admin-task": ("rita", "/admin/catalog/task/1/change/"),
    "admin-lane": ("rita", "/admin/winners/lane/1/change/"),
    "admin-fact-question": ("rita", "/admin/factsheets/question/1/change/"),
    "admin-board": ("rita", "/admin/catalog/leaderboard/1/change/"),
    "admin-boards": ("rita", "/admin/catalog/leaderboard/"),
    "admin-queues": ("rita", "/admin/compute/queue/"),
    "admin-launchers": ("rita", "/admin/compute/launcher/"),
    "admin-users": ("rita", "/admin/accounts/user/"),
    "admin-registrations": ("rita", "/admin/teams/registration/"),
    "admin-merges": ("rita", "/admin/teams/mergeproposal/"),
    "admin-environment-files": ("rita", "/admin/environments/environmentfile/"),
    "admin-teams": ("rita", "/admin/teams/team/"),
    "admin-lanes": ("rita", "/admin/winners/lane/"),
    "admin-places": ("rita", "/admin/winners/place/"),
    "admin-resources": ("rita", "/admin/resources/resource/"),
    "admin-datasets": ("rita", "/admin/submissions/dataset/"),
    "admin-phases": ("olga", "/admin/catalog/phase/"),
    "admin-submissions": ("rita", "/admin/submissions/submission/"),
    "admin-audit": ("rita", "/admin/audit/auditentry/"),
}


def submission_pages(visitor: Visitor) -> Iterator[tuple[str, str]]:
    """Pages of the submissions in every state."""
    visitor.visit(f"{CLUSTER}/submissions/")
    links = visitor.page.locator("table.submissions tbody th a").evaluate_all("all => all.map(one => one.pathname)")
    for number, path in enumerate(links):
        yield f"submission-{number}", path


def wrong_sign_in(visitor: Visitor) -> None:
    page = visitor.visit("/accounts/login/")
    page.get_by_label("User name or e-mail address").fill("ada")
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Sign in", exact=True).click()


def wrong_sign_up(visitor: Visitor) -> None:
    page = visitor.visit("/accounts/signup/")
    for label, text in [("User name", "ada"), ("E-mail", "new@example.net")]:
        page.get_by_label(label).fill(text)
    page.get_by_label("Password", exact=True).fill("1234567")
    page.get_by_label("Password (again)").fill("12345678")
    page.get_by_role("button", name="Sign up", exact=True).click()


def wrong_file(visitor: Visitor) -> None:
    page = visitor.visit(f"{GAP}/submissions/?phase=test-dev")
    page.get_by_label("File").set_input_files({"name": "results.csv", "mimeType": "text/csv", "buffer": b"1,2"})
    page.get_by_role("button", name="Submit", exact=True).click()
    page.locator("[data-upload-error]").wait_for()


def code_as_predictions(visitor: Visitor) -> None:
    page = visitor.visit(f"{GAP}/submissions/?phase=test-dev")
    code = zip_bytes({"metadata.yaml": "command: python3 $program/predict.py", "predict.py": "print()"})
    page.get_by_label("File").set_input_files({"name": "kit.zip", "mimeType": "application/zip", "buffer": code})
    page.get_by_role("button", name="Submit", exact=True).click()
    page.locator("[data-upload-kinds]").wait_for()


def refuse_invitation(visitor: Visitor) -> None:
    page = visitor.visit(f"{GAP}/team/")
    page.get_by_label("User name or e-mail address").fill("nobody-at-all")
    page.get_by_role("button", name="Invite").click()
    page.locator(".message.error").wait_for()


def new_token(visitor: Visitor) -> None:
    page = visitor.visit("/accounts/reauthenticate/?next=/profile/")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Confirm").click()
    page.get_by_label("Name", exact=True).fill("cluster")
    page.get_by_role("button", name="Create token").click()
    page.locator("#secret").wait_for()


def new_queue_token(visitor: Visitor) -> None:
    visitor.visit("/host/queues/crowd/").get_by_role("button", name="Make a new token").click()
    confirm = visitor.page.get_by_role("button", name="Make a new one")
    confirm.or_(visitor.page.locator("#secret")).wait_for()
    if confirm.count():  # there is one already
        confirm.click()
        visitor.page.locator("#secret").wait_for()


def table_to_read(visitor: Visitor) -> None:
    """The page that waits until a table was read, which is large so that it takes a while."""
    page = visitor.visit("/host/")
    page.get_by_role("button", name="Begin with a table").click()
    rows = "".join(f"m{row},{row % 97}\n" for row in range(300_000))
    table = f"id,logS\n{rows}".encode()
    page.get_by_role("button", name="Solution", exact=True).set_input_files(
        {"name": "answers.csv", "mimeType": "text/csv", "buffer": table}
    )
    page.get_by_role("button", name="Next", exact=True).click()
    page.get_by_role("heading", name="Reading your file").wait_for()


def first_row(visitor: Visitor) -> None:
    page = visitor.visit(f"{FINALS}/leaderboard/?phase=test-challenge")
    page.locator("table.board tbody tr:not(.pinned) th a").first.click()
    page.frame_locator("iframe.detailed").locator("h1").wait_for()


def annotated_submission(visitor: Visitor) -> None:
    visitor.visit(f"{GAP}/submissions/?tag=gin").locator("table.submissions tbody th > a").first.click()
    visitor.page.locator("#open-annotate").click()


def annotations_of_a_new_one(visitor: Visitor) -> None:
    visitor.visit(f"{GAP}/submissions/").locator("#open-annotations").click()


def first_of_the_crowd(visitor: Visitor) -> None:
    visitor.visit("/competitions/crowd/leaderboard/").locator("table.board tbody th a").first.click()
    visitor.page.locator("[data-drawn]").wait_for()


def badge_of_the_crowd(visitor: Visitor) -> None:
    first_of_the_crowd(visitor)
    visitor.page.get_by_text("Badge for a README").click()


def removed_rows(visitor: Visitor) -> None:
    visitor.visit("/competitions/crowd/leaderboard/").get_by_text("taken off this leaderboard").click()


def team_of_the_crowd(visitor: Visitor) -> None:
    first_of_the_crowd(visitor)
    visitor.page.locator(".entry-title a").click()
    visitor.page.locator("[data-drawn]").wait_for()


def jump_to_me(visitor: Visitor) -> None:
    visitor.visit("/competitions/crowd/leaderboard/").get_by_role("link", name="Jump to my row").click()
    visitor.page.locator("tr:target").wait_for()


def detailed_results(visitor: Visitor) -> None:
    page = visitor.visit(f"{FINALS}/submissions/?phase=test-challenge")
    page.locator("table.submissions tbody th a").first.click()
    page.get_by_text("Detailed results").click()
    page.frame_locator("iframe.detailed").locator("h1").wait_for()


def own_algorithm(visitor: Visitor) -> None:
    visitor.visit("/competitions/both/submissions/").get_by_role("link", name="code.zip", exact=True).click()


def own_dataset(visitor: Visitor) -> None:
    visitor.visit("/competitions/both/submissions/").get_by_role("link", name="Still being filled.zip").click()
    visitor.page.get_by_text("Withdraw this dataset").click()


def smoke_run_passed(visitor: Visitor) -> None:
    page = visitor.visit("/competitions/mini/submissions/")
    page.get_by_role("row", name="Passed, then waits").get_by_role("link").first.click()


def smoke_run_crashed(visitor: Visitor) -> None:
    page = visitor.visit("/competitions/mini/submissions/")
    page.get_by_role("row", name="Crashed").get_by_role("link").first.click()


def scrolled_board(visitor: Visitor) -> None:
    visitor.visit("/competitions/both/leaderboard/?sets=2")
    visitor.page.get_by_role("region", name="Leaderboard").evaluate("one => { one.scrollLeft = one.scrollWidth }")


def many_to_move(visitor: Visitor) -> None:
    page = visitor.visit("/host/competitions/gap/submissions/")
    for checkbox in page.locator("[name=chosen]").all()[:3]:
        checkbox.check()
    page.get_by_label("With selected", exact=True).select_option("move")
    page.get_by_role("button", name="Apply").click()
    page.get_by_text("This concerns").wait_for()


def lower_quota(visitor: Visitor) -> None:
    page = visitor.visit("/host/competitions/gap/phases/1/")
    page.get_by_label("In total (optional)", exact=True).fill("1")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_text("This is what the change does").wait_for()


def board_turned_over(visitor: Visitor) -> None:
    page = visitor.visit("/host/competitions/gap/boards/1/")
    page.get_by_label("Sorting").first.select_option("desc")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_text("change their rank").wait_for()


def new_rules(visitor: Visitor) -> None:
    page = visitor.visit("/host/competitions/gap/rules/")
    page.get_by_label("Rules", exact=True).fill("# Rules\n\n1. Be kind.\n2. Share your code.")
    page.get_by_role("button", name="Publish").click()
    page.get_by_text("This is what the change does").wait_for()


def new_labels(visitor: Visitor) -> None:
    page = visitor.visit("/host/competitions/gap/data/")
    page.locator("summary", has_text="Replace").nth(2).click()
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("y.csv", "1")
    page.locator(".data-slot details[open] input[type=file]").set_input_files(
        {"name": "labels.zip", "mimeType": "application/zip", "buffer": packed.getvalue()}
    )
    page.get_by_text("This is what it does").wait_for()


def workspace_team(visitor: Visitor) -> None:
    visitor.visit("/host/competitions/gap/teams/").get_by_role("link", name="Band Gap Busters").click()


def announcement_preview(visitor: Visitor) -> None:
    page = visitor.visit("/host/competitions/gap/announcements/new/")
    page.get_by_label("Title").fill("The deadline moves")
    page.get_by_label("Text").fill(
        "You have **one more week**.\n\n| Phase | Closes |\n| --- | --- |\n| Final | June 7 |"
    )
    page.get_by_role("button", name="Preview").click()


def mail_to_confirm(visitor: Visitor) -> None:
    page = visitor.visit("/host/competitions/gap/mail/")
    page.get_by_label("Subject").fill("The deadline moves")
    page.get_by_label("Text").fill("You have one more week.")
    page.get_by_role("button", name="See who will get it").click()


def settings_wrong(visitor: Visitor) -> None:
    page = visitor.visit("/host/competitions/gap/settings/")
    page.get_by_label("Tags").fill("a,b,c,d,e,f,g,h,i")
    page.get_by_role("button", name="Save about").click()


def invitation_link(visitor: Visitor) -> None:
    page = visitor.visit(f"{GAP}/team/")
    if not page.locator("a[href*='/join/'], code:has-text('/join/'), input[value*='/join/']").count():
        page.get_by_role("button", name="Make a link").click()


def join_by_link(visitor: Visitor) -> None:
    """Pages as somebody sees them who is not signed in."""
    invitation_link(visitor)
    text = visitor.page.content()
    link = re.search(r"/join/[\w:./-]+", text)
    assert link, "the team's page shows its link"
    visitor.page.context.clear_cookies()
    visitor.visit(link[0])


def number_in_a_post(visitor: Visitor) -> None:
    page = visitor.visit(f"{GAP}/discussion/new/")
    page.get_by_label("Title").fill("A strange score")
    page.get_by_label("Text").fill("We get 0.0871, **why**?")
    page.get_by_role("button", name="Open the topic").click()
    page.get_by_text("Is this a sealed score?").wait_for()


def post_preview(visitor: Visitor) -> None:
    page = visitor.visit(f"{GAP}/discussion/1/")
    page.get_by_label("Text").fill("# Well\n\nIt is $e^{i\\pi} = -1$.\n\n> a quote")
    page.get_by_role("button", name="Preview").click()


# Name -> who, and what they do before the picture is taken.
MOMENTS: dict[str, tuple[str, Callable[[Visitor], None]]] = {
    "workspace-phase-impact": ("olga", lower_quota),
    "workspace-board-impact": ("olga", board_turned_over),
    "workspace-rules-impact": ("olga", new_rules),
    "workspace-data-impact": ("olga", new_labels),
    "workspace-team": ("olga", workspace_team),
    "workspace-announcement-preview": ("olga", announcement_preview),
    "workspace-mail-confirm": ("olga", mail_to_confirm),
    "workspace-settings-wrong": ("olga", settings_wrong),
    "team-link": ("ben", invitation_link),
    "join": ("ben", join_by_link),
    "topic-new-number": ("ada", number_in_a_post),
    "post-preview": ("ada", post_preview),
    "login-wrong": ("", wrong_sign_in),
    "signup-wrong": ("", wrong_sign_up),
    "submit-wrong-file": ("ada", wrong_file),
    "submit-wrong-kind": ("ada", code_as_predictions),
    "refused": ("ada", refuse_invitation),
    "profile-new-token": ("ada", new_token),
    "own-queue-new-token": ("rita", new_queue_token),
    "guided-wait": ("olga", table_to_read),
    "entry-with-details": ("gina", first_row),
    "annotated-submission": ("ada", annotated_submission),
    "annotated-entry": ("", lambda visitor: visitor.visit(f"{GAP}/leaderboard/").locator("tbody th > a").first.click()),
    "annotations-of-a-new-one": ("ada", annotations_of_a_new_one),
    "entry-crowd": ("", first_of_the_crowd),
    "entry-badge": ("", badge_of_the_crowd),
    "board-removed-rows": ("", removed_rows),
    "team-public": ("", team_of_the_crowd),
    "board-crowd-jump": ("cora", jump_to_me),
    "submission-with-details": ("gina", detailed_results),
    "board-growing-scrolled": ("hedi", scrolled_board),
    "smoke-run-passed": ("sana", smoke_run_passed),
    "smoke-run-crashed": ("sana", smoke_run_crashed),
    "submission-algorithm": ("hedi", own_algorithm),
    "submission-data-set": ("hedi", own_dataset),
    "workspace-move": ("olga", many_to_move),
}


class Look:
    """Visitors with one size of window and one colour scheme, each signed in once."""

    def __init__(self, browser: Browser, url: str, size: str, scheme: Literal["light", "dark"]) -> None:
        self._browser, self._url, self._scheme, self._size = browser, url, scheme, size
        self._visitors: dict[str, Visitor] = {}

    def visitor(self, name: str) -> Visitor:
        if name not in self._visitors:
            width, height = SIZES[self._size]
            context = self._browser.new_context(viewport={"width": width, "height": height}, color_scheme=self._scheme)
            self._visitors[name] = Visitor(context, self._url)
            if name:
                self._visitors[name].sign_in(name)
        return self._visitors[name]

    def close(self) -> None:
        for visitor in self._visitors.values():
            print(*visitor.faults, sep="\n", end="")
            visitor.context.close()


def pictures(browser: Browser, url: str, folder: Path, parts: list[str]) -> None:
    """Take those whose name holds one of the parts; all where there are none."""

    def is_wanted(name: str) -> bool:
        return not parts or any(part in name for part in parts)

    schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for scheme, size in itertools.product(schemes, SIZES):
        look = Look(browser, url, size, scheme)
        todo = {name: page for name, page in (PAGES | ALIKE).items() if is_wanted(name)}
        if is_wanted("submission-"):
            todo |= {name: ("fred", path) for name, path in submission_pages(look.visitor("fred"))}
        for name, (who, path) in todo.items():
            page = look.visitor(who).visit(path)
            page.screenshot(path=folder / f"{name}-{size}-{scheme}.png", full_page=True)
        for name, (who, do) in MOMENTS.items():
            if is_wanted(name):
                do(look.visitor(who))
                look.visitor(who).page.screenshot(path=folder / f"{name}-{size}-{scheme}.png", full_page=True)
        look.close()


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    real = services.Services(services.run_folder())
    database_url = postgres_database(real.postgres(), f"gallery-{uuid.uuid4().hex[:8]}")
    site = BrowserSite(Path(tempfile.mkdtemp()), database_url=database_url, redis_url=real.redis())
    try:
        site.prepare()
        site.start()
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=services.chromium(), args=["--no-sandbox"])
            pictures(browser, site.url, folder, sys.argv[2:])
    finally:
        site.stop()
        real.stop()


if __name__ == "__main__":
    main()
