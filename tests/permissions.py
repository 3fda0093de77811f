"""A world with each kind of person, and the table of every URL's answers to them.

Letters: A anybody's visit (nobody signed in), S a stranger (signed in, not registered), M a member of the team whose things
the URLs name, T a member of another team, O the competition's organizer, X an organizer of another competition,
R the administrator (root).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, reverse
from django.urls.resolvers import RoutePattern
from django.utils import timezone

from accounts.models import Profile
from competitions.catalog.models import Announcement, Page, PageImage, Series
from competitions.catalog.texts.pages import page_save
from competitions.codabench_api.refused import REFUSED_CALLS
from competitions.discussions.models import PostImage
from competitions.discussions.services import Draft, topic_create
from competitions.environments.models import EnvironmentFile
from competitions.leaderboards.rescoring.services import proposal_begin
from competitions.notifications.mails import OptOut
from competitions.notifications.models import Kind as Told
from competitions.notifications.models import Notification
from competitions.notifications.services import notify_person
from competitions.organize.drafts import draft_begin
from competitions.organize.models import CompetitionDraft
from competitions.resources.storage import store_bytes
from competitions.runs.models import RunOutput
from competitions.submissions.models import Submission
from competitions.submissions.states import Kind
from competitions.teams.links import link_make, signed_token
from competitions.teams.merging import merge_propose
from competitions.teams.models import RegistrationQuestion
from competitions.teams.services import invite, register
from competitions.web.feeds import calendar_url
from competitions.webhooks.models import Webhook
from competitions.winners.models import Lane, Place
from tests.images import png_bytes
from tests.scenario import Scenario, person, scenario
from tests.smoke import with_smoke_run

EVERYBODY = "ASMTOXR"
SIGNED_IN = "SMTOXR"
OF_SCORES = {"phase_slug", "pk", "run_id", "entry"}  # arguments of URLs whose answer depends on a seal

# Pages of the workspace, by method; the others under "organize:" are of a draft, or of nobody's.
WORKSPACE_GET = (
    "overview", "submissions", "submissions-csv", "slices-csv", "teams", "teams-csv", "team", "team-settings", "registrations",
    "registrations-csv", "announcements", "announcement-new", "announcement", "mail", "settings", "pages", "page-new", "page", "images",
    "rules", "phases", "phase-new", "phase", "webhooks", "boards", "board", "board-new", "board-delete", "data", "task", "task-new",
    "task-delete", "questions", "question", "question-new", "question-delete", "winners", "discussion", "proposals", "proposal",
    "proposal-status", "usage", "usage-csv",
)  # fmt: skip
OWN_FILE = ("own-file", "own-file-download", "own-file-delete")
WORKSPACE_POST = ("organizers", "visibility", "image-delete")

# URL name -> method, who gets an answer below 300 (or a redirect to a page of theirs), what the others get.
# 404: it does not exist for them. 302: they are asked to sign in. 401/403: the API says what is missing.
PAGES: dict[str, tuple[str, str, dict[str, int]]] = {
    "metrics": ("get", "", {EVERYBODY: 404}),
    "sitemap": ("get", EVERYBODY, {}),
    "robots": ("get", EVERYBODY, {}),
    "llms": ("get", EVERYBODY, {}),
    "skill": ("get", EVERYBODY, {}),
    "mcp": ("post", "", {EVERYBODY: 400}),  # a form is not a message
    "web:overview-markdown": ("get", EVERYBODY, {}),
    "web:page-markdown": ("get", EVERYBODY, {}),
    "web:own-page-markdown": ("get", EVERYBODY, {}),
    "web:topic-markdown": ("get", EVERYBODY, {}),
    "web:index": ("get", EVERYBODY, {}),
    "web:competitions": ("get", EVERYBODY, {}),
    "web:brand-colours": ("get", EVERYBODY, {}),
    "web:brand-sign": ("get", "", {EVERYBODY: 404}),  # there is none
    "web:docs": ("get", "", {EVERYBODY: 404}),  # none were built
    "web:docs-page": ("get", "", {EVERYBODY: 404}),
    "web:legal": ("get", "", {EVERYBODY: 404}),
    "web:series": ("get", EVERYBODY, {}),
    "web:demo": ("get", "", {EVERYBODY: 404}),  # this site is none
    "web:demo-enter": ("post", "", {EVERYBODY: 404}),
    "web:me": ("get", SIGNED_IN, {"A": 302}),
    "web:notifications": ("get", SIGNED_IN, {"A": 302}),
    "web:notification": ("get", "M", {"A": 302, "STOXR": 404}),
    "web:notifications-read": ("post", SIGNED_IN, {"A": 302}),
    "web:notification-preferences": ("get", SIGNED_IN, {"A": 302}),
    "web:notifications-stop": ("post", EVERYBODY, {}),  # the signature says whose
    "web:overview": ("get", EVERYBODY, {}),
    "web:data": ("get", EVERYBODY, {}),
    "web:announcement-feed": ("get", EVERYBODY, {}),
    "web:leader-feed": ("get", EVERYBODY, {}),
    "web:discussion": ("get", EVERYBODY, {}),
    "web:discussion-feed": ("get", EVERYBODY, {}),
    "web:discussion-follow": ("post", "", {"A": 302, "SMTOXR": 422}),  # says neither yes nor no
    "web:topic": ("get", EVERYBODY, {}),
    "web:topic-feed": ("get", EVERYBODY, {}),
    "web:topic-new": ("get", "MTOR", {"A": 302, "SX": 403}),
    "web:topic-reply": ("get", "MTOR", {"A": 302, "SX": 403}),
    "web:topic-follow": ("post", "", {"A": 302, "SMTOXR": 422}),
    "web:topic-solve": ("post", "MOR", {"A": 302, "STX": 403}),
    "web:post-edit": ("get", "M", {"A": 302, "STOXR": 403}),
    "web:post-delete": ("get", "M", {"A": 302, "STOXR": 403}),
    "web:post-history": ("get", EVERYBODY, {}),
    "web:post-report": ("get", "MTOR", {"A": 302, "SX": 403}),
    "web:post-image": ("get", EVERYBODY, {}),
    "web:discourse": ("get", "", {"A": 302, "SMTOXR": 404}),  # the site has none
    "organize:topic-act": ("post", "", {"A": 302, "SMTX": 404, "OR": 422}),  # says nothing
    "organize:post-act": ("post", "", {"A": 302, "SMTX": 404, "OR": 422}),
    "organize:writer-readmit": ("post", "OR", {"A": 302, "SMTX": 404}),
    "web:competition-calendar": ("get", EVERYBODY, {}),
    "web:calendar": ("get", EVERYBODY, {}),  # the address is the secret
    "web:rules": ("get", EVERYBODY, {}),
    "web:conduct": ("get", EVERYBODY, {}),
    "web:results": ("get", EVERYBODY, {}),
    "web:certificate-make": ("post", "", {"A": 302, "SMTOXR": 422}),  # it asks for a name
    "web:certificate": ("get", "", {EVERYBODY: 404}),
    "web:conduct-file": ("get", EVERYBODY, {}),
    "web:page": ("get", EVERYBODY, {}),
    "web:leaderboard": ("get", EVERYBODY, {}),
    "web:history": ("get", EVERYBODY, {}),
    "web:leaderboard-csv": ("get", EVERYBODY, {}),
    "web:logo": ("get", EVERYBODY, {}),
    "web:cover": ("get", EVERYBODY, {}),
    "web:image": ("get", EVERYBODY, {}),
    "web:download": ("get", "MTOR", {"A": 302, "SX": 403}),
    "web:join": ("post", "SMTOXR", {"A": 302}),
    "web:manifest": ("get", "", {EVERYBODY: 404}),  # the public board was never committed to
    "web:embed": ("get", EVERYBODY, {}),
    "web:snapshots": ("get", EVERYBODY, {}),
    "web:snapshot-make": ("post", "", {"A": 302, "SMTX": 404, "OR": 409}),  # the board has no rows
    "web:snapshot": ("get", "", {EVERYBODY: 404}),  # there is none
    "web:snapshot-file": ("get", "", {EVERYBODY: 404}),
    "web:signing-key": ("get", EVERYBODY, {}),
    "web:badge": ("get", "", {EVERYBODY: 404}),  # nothing is scored yet
    "web:costs": ("get", EVERYBODY, {}),
    "web:uncertainty": ("get", EVERYBODY, {}),
    "web:shake-up": ("get", "", {EVERYBODY: 404}),
    "web:reveal": ("get", "OR", {"A": 302, "SMTX": 404}),
    "web:changes": ("get", EVERYBODY, {}),
    "web:change": ("get", "", {EVERYBODY: 404}),  # it is not applied
    "web:entry": ("get", "", {EVERYBODY: 404}),  # nothing is scored yet
    "web:entry-details": ("get", "", {EVERYBODY: 404}),
    "web:public-team": ("get", "", {EVERYBODY: 404}),  # no board shows it
    "web:winners": ("get", EVERYBODY, {}),
    "web:winners-place": ("get", "MOR", {"A": 302, "STX": 404}),
    "web:winners-act": ("post", "", {"A": 302, "M": 409, "OR": 403, "STX": 404}),  # a report before the code
    "web:team": ("get", SIGNED_IN, {"A": 302}),
    "web:team-create": ("post", "", {"A": 302, "SOXR": 403, "MT": 409}),
    "web:team-rename": ("post", "MT", {"A": 302, "SOXR": 403}),
    "web:team-invite": ("post", "", {"A": 302, "SOXR": 403, "MT": 404}),
    "web:link-make": ("post", "", {"A": 302, "SOXR": 403, "MT": 422}),  # nothing is said of people and days
    "web:link-revoke": ("post", "M", {"A": 302, "STOXR": 403}),
    "web:link": ("get", EVERYBODY, {}),  # whoever has the link
    "web:team-captain": ("post", "M", {"A": 302, "SOXR": 403, "T": 404}),
    "web:team-webhooks": ("get", "MT", {"A": 302, "SOXR": 403}),
    "web:webhook": ("get", "M", {"A": 302, "STOXR": 404}),
    "web:webhook-act": ("post", "", {"A": 302, "SMTOXR": 404}),  # no such action
    "web:environment": ("get", SIGNED_IN, {"A": 302}),
    "web:environment-add": ("post", SIGNED_IN, {"A": 302}),  # the form says no kind: back to the page, which says so
    "web:environment-remove": ("post", "", {"A": 302, "STOXR": 404, "M": 409}),  # a submission that waits needs it
    "web:team-leave": ("post", "T", {"A": 302, "SOXR": 403, "M": 409}),
    "web:team-merge": ("post", "", {"A": 302, "SOXR": 403, "MT": 404}),
    "web:merge-accept": ("post", "T", {"A": 302, "SMOXR": 403}),
    "web:merge-decline": ("post", "T", {"A": 302, "SMOXR": 403}),
    "web:merge-withdraw": ("post", "M", {"A": 302, "STOXR": 403}),
    "web:invitation-accept": ("post", "", {"A": 302, "SMTOXR": 404}),
    "web:invitation-decline": ("post", "", {"A": 302, "SMTOXR": 404}),
    "web:invitation-withdraw": ("post", "M", {"A": 302, "STOXR": 403}),
    "web:submission-compare": ("get", "MOR", {"A": 302, "STX": 404}),
    "web:submissions": ("get", SIGNED_IN, {"A": 302}),
    "web:finals": ("get", "", {"A": 302, "SMTOXR": 404}),  # the board asks for no selection
    "web:submit": ("post", "SMTOXR", {"A": 302}),  # the form says no kind: back to the page, which says so
    "web:own-submissions-csv": ("get", "MT", {"A": 302, "SOXR": 404}),
    "web:submission-look": ("post", "", {"A": 302, "SMTOXR": 422}),  # it says no kind
    "web:submission": ("get", "MOR", {"A": 302, "STX": 404}),
    "web:submission-row": ("get", "MOR", {"A": 302, "STX": 404}),
    "web:submission-live": ("get", "MOR", {"A": 302, "STX": 404}),
    "web:submission-file": ("get", "MOR", {"A": 302, "STX": 404}),
    "web:submission-output": ("get", "MOR", {"A": 302, "STX": 404}),
    "web:submission-cancel": ("post", "MOR", {"A": 302, "STX": 404}),
    "web:submission-annotate": ("post", "MOR", {"A": 302, "STX": 404}),
    "web:submission-withdraw": ("post", "", {"A": 302, "OR": 403, "M": 409, "STX": 404}),
    "web:submission-pick": ("post", "", {"A": 302, "OR": 403, "M": 409, "STX": 404}),
    "web:submission-unpick": ("post", "", {"A": 302, "OR": 403, "M": 409, "STX": 404}),
    "web:submission-fact-sheet": ("get", "MOR", {"A": 302, "STX": 404}),
    "organize:start": ("get", SIGNED_IN, {"A": 302}),
    **{f"organize:{name}": ("get", "OR", {"A": 302, "SMTX": 404}) for name in WORKSPACE_GET},
    **{f"organize:{name}": ("post", "", {"A": 302, "SMTX": 404, "OR": 422}) for name in WORKSPACE_POST},  # says nothing
    "organize:page-act": ("post", "OR", {"A": 302, "SMTX": 404}),
    "organize:file": ("post", "", {"A": 302, "SMTX": 404, "OR": 422}),  # no file was chosen
    "organize:new-solution": ("get", "", {"A": 302, "SMTXOR": 404}),  # the phase takes no tables
    "organize:new-solution-status": ("get", "", {"A": 302, "SMTXOR": 404}),
    "organize:proposal-file": ("post", "", {"A": 302, "SMTX": 404, "OR": 422}),  # no file was chosen
    "organize:phase-delete": ("post", "", {"A": 302, "SMTX": 404, "OR": 409}),  # somebody has submitted
    "organize:submission-start": ("post", "", {"A": 302, "SMTX": 404, "OR": 409}),  # it does not wait for them
    "organize:submissions-start": ("post", "OR", {"A": 302, "SMTX": 404}),
    "organize:solution": ("get", "", {"A": 302, "SMTXOR": 404}),  # there is none
    "organize:solution-run": ("post", "", {"A": 302, "SMTXOR": 404}),
    "organize:dataset-rerun": ("post", "", {"A": 302, "SMTXOR": 404}),  # it is not a dataset
    "organize:team-file-remove": ("post", "", {"A": 302, "SMTX": 404, "OR": 409}),  # a submission that waits needs it
    "organize:files": ("get", "OXR", {"A": 302, "SMT": 403}),
    "organize:own-file-new": ("post", "", {"A": 302, "SMT": 403, "OXR": 422}),  # says no kind
    **{f"organize:{name}": ("get", "OR", {"A": 302, "SMTX": 404}) for name in OWN_FILE},
    "organize:queues": ("get", "OXR", {"A": 302, "SMT": 403}),
    "organize:queue-new": ("get", "OXR", {"A": 302, "SMT": 403}),
    "organize:queue": ("get", "R", {"A": 302, "SMT": 403, "OX": 404}),  # the site's own
    "organize:queue-settings": ("get", "R", {"A": 302, "SMT": 403, "OX": 404}),
    "organize:queue-gpu-hours": ("post", "", {"A": 302, "SMT": 403, "OX": 404, "R": 422}),  # says nothing
    "organize:queue-usage-csv": ("get", "R", {"A": 302, "SMT": 403, "OX": 404}),
    "organize:queue-token": ("post", "", {"A": 302, "SMT": 403, "OX": 404, "R": 422}),  # says nothing
    "organize:queue-worker": ("post", "", {"A": 302, "SMT": 403, "OXR": 404}),  # there is none
    "organize:series": ("get", "OXR", {"A": 302, "SMT": 403}),
    "organize:series-new": ("get", "OXR", {"A": 302, "SMT": 403}),
    "organize:series-one": ("get", "R", {"A": 302, "SMT": 403, "OX": 404}),  # nobody owns it
    "organize:series-delete": ("get", "R", {"A": 302, "SMTOX": 404}),
    "organize:begin": ("post", "", {"A": 302, "SMTOXR": 422}),
    "organize:ask": ("post", "", {"A": 302, "SMTOXR": 422}),
    "organize:invitation": ("post", "", {"A": 302, "SMTOXR": 404}),  # there is none
    **{
        f"organize:{name}": (method, "O", {"A": 302, "SMTXR": 404})  # a draft is its owner's alone
        for method, names in {
            "get": ("draft", "step", "trial", "build-status", "review", "file-status"),
            "post": ("preview", "detach", "discard"),
        }.items()
        for name in names
    },
    "organize:step-wait": ("get", "O", {"A": 302, "SMTXR": 404}),  # nothing is being read: on to the step
    "organize:attach": ("post", "", {"A": 302, "SMTXR": 404, "O": 422}),
    "organize:build": ("post", "", {"A": 302, "SMTXR": 404, "O": 422}),  # nothing is answered yet
    "organize:publish": ("post", "", {"A": 302, "SMTXR": 404, "O": 409}),
    "accounts:profile": ("get", SIGNED_IN, {"A": 302}),
    "accounts:token-make": ("post", SIGNED_IN, {"A": 302}),  # it asks for the password first
    "accounts:token-revoke": ("post", "", {"A": 302, "SMTOXR": 404}),
    "accounts:public": ("get", SIGNED_IN, {"A": 302}),
    "web:own-data": ("get", SIGNED_IN, {"A": 302}),
    "web:own-data-ask": ("post", SIGNED_IN, {"A": 302}),
    "web:own-data-file": ("get", "", {"A": 302, "SMTOXR": 404}),  # there is none
    "web:account-delete": ("get", SIGNED_IN, {"A": 302}),
    "web:account-delete-withdraw": ("post", SIGNED_IN, {"A": 302}),
    "web:person": ("get", EVERYBODY, {}),
    "web:person-report": ("get", SIGNED_IN, {"A": 302}),
    "web:person-block": ("post", "", {"A": 302, "SMTOXR": 422}),  # says neither yes nor no
    "web:blocks": ("get", SIGNED_IN, {"A": 302}),
    "api:person": ("get", EVERYBODY, {}),
    "api:blocks": ("get", SIGNED_IN, {"A": 401}),
    "api:block": ("delete", "", {"A": 401, "SMTOXR": 404}),  # nobody is blocked
    "api:schema": ("get", EVERYBODY, {}),
    "api:docs": ("get", EVERYBODY, {}),  # leads to the docs
    "api:competitions": ("get", EVERYBODY, {}),
    "api:competition": ("get", EVERYBODY, {}),
    "api:topics": ("get", EVERYBODY, {}),
    "api:topic-posts": ("get", EVERYBODY, {}),
    "api:topic": ("get", EVERYBODY, {}),
    "api:topic-solution": ("put", "", {"A": 401, "SMTOXR": 415}),  # is not JSON
    "api:topic-decision": ("post", "", {"A": 401, "SMTX": 404, "OR": 400}),  # says nothing
    "api:post": ("get", EVERYBODY, {}),
    "api:post-reports": ("post", "", {"A": 401, "SMTOXR": 400}),
    "api:post-decision": ("post", "", {"A": 401, "SMTX": 404, "OR": 400}),
    "api:reports": ("get", "OR", {"A": 401, "SMTX": 404}),
    "api:exclusions": ("get", "OR", {"A": 401, "SMTX": 404}),
    "api:exclusion": ("delete", "", {"A": 401, "SMTOXR": 404}),  # nobody is excluded
    "api:files": ("get", EVERYBODY, {}),
    "api:file": ("get", "MTOR", {"A": 401, "SX": 403}),
    "api:registration": ("get", "MT", {"A": 401, "SOXR": 403}),
    "api:team": ("get", "MT", {"A": 401, "SOXR": 403}),
    "api:team-invitations": ("post", "", {"A": 401, "SOXR": 403, "MT": 400}),
    "api:team-merges": ("get", "MT", {"A": 401, "SOXR": 403}),
    "api:merge-accept": ("post", "T", {"A": 401, "SOXR": 404, "M": 403}),
    "api:merge-decline": ("post", "T", {"A": 401, "SOXR": 404, "M": 403}),
    "api:merge-withdraw": ("post", "M", {"A": 401, "SOXR": 404, "T": 403}),
    "api:phase": ("get", "OR", {"A": 401, "SMTX": 404}),
    "api:competition-settings": ("get", "OR", {"A": 401, "SMTX": 404}),
    "api:board": ("get", "OR", {"A": 401, "SMTX": 404}),
    "api:column": ("get", "OR", {"A": 401, "SMTX": 404}),
    "api:task": ("get", "OR", {"A": 401, "SMTX": 404}),
    "api:queue": ("get", "R", {"A": 401, "SMTOX": 404}),  # the site's own
    "api:fact-sheet": ("get", EVERYBODY, {}),
    "api:smoke": ("get", "MTOR", {"A": 401, "SX": 403}),
    "api:limits": ("get", "MT", {"A": 401, "SOXR": 403}),
    "api:leaderboard": ("get", EVERYBODY, {}),
    "api:winners": ("get", EVERYBODY, {}),
    "api:commitment": ("get", "", {EVERYBODY: 404}),
    "api:leaderboard-csv": ("get", EVERYBODY, {}),
    "api:weights": ("get", "MT", {"A": 401, "SOXR": 403}),
    "api:images": ("get", "MT", {"A": 401, "SOXR": 403}),
    "api:environment-file": ("get", "M", {"A": 401, "STOXR": 404}),
    "api:me": ("get", SIGNED_IN, {"A": 401}),
    "api:invitations": ("get", SIGNED_IN, {"A": 401}),
    "api:invitation-accept": ("post", "", {"A": 401, "SMTOXR": 404}),
    "api:invitation-decline": ("post", "", {"A": 401, "SMTOXR": 404}),
    "api:uploads": ("post", "", {"A": 401, "SMTOXR": 415}),
    "api:upload": ("get", "M", {"A": 401, "STOXR": 404}),
    "api:submissions": ("get", SIGNED_IN, {"A": 401}),
    "api:submission": ("get", "MOR", {"A": 401, "STX": 404}),
    "api:submission-cancel": ("post", "MOR", {"A": 401, "STX": 404}),
    "api:submission-start": ("post", "", {"A": 401, "M": 403, "STX": 404, "OR": 409}),
    "api:submissions-start": ("post", "OR", {"A": 401, "SMTX": 404}),
    "api:team-submissions-csv": ("get", "MT", {"A": 401, "SOXR": 403}),
    "api:submissions-csv": ("get", "OR", {"A": 401, "SMTX": 404}),
    "api:slices-csv": ("get", "OR", {"A": 401, "SMTX": 404}),
    "api:submission-withdraw": ("post", "", {"A": 401, "OR": 403, "M": 409, "STX": 404}),
    "api:submission-board": ("put", "", {"A": 401, "OR": 403, "M": 409, "STX": 404}),
    "api:submission-fact-sheet": ("put", "", {"A": 401, "MOR": 415, "STX": 404}),
    "api:submission-logs": ("get", "MOR", {"A": 401, "STX": 404}),
    "api:submission-slices": ("get", "MOR", {"A": 401, "STX": 404}),
    "api:submission-receipt": ("get", "MOR", {"A": 401, "STX": 404}),
    "api:submission-download": ("get", "MOR", {"A": 401, "STX": 404}),
    "codabench:sign-in": ("post", "", {EVERYBODY: 400}),
    "codabench:competitions": ("get", EVERYBODY, {}),
    "codabench:competitions-public": ("get", EVERYBODY, {}),
    "codabench:competition-bare": ("get", EVERYBODY, {}),
    "codabench:competition": ("get", EVERYBODY, {}),
    "codabench:register": ("post", "SMTOXR", {"A": 401}),
    "codabench:can-make-submission": ("get", SIGNED_IN, {"A": 401}),
    "codabench:datasets": ("post", "SMTOXR", {"A": 401}),
    "codabench:upload-completed": ("put", "M", {"A": 401, "STOXR": 404}),
    "codabench:dataset": ("get", "O", {"A": 401, "SMTXR": 404}),
    "dataset-download": ("get", "MTOR", {"A": 401, "SX": 403}),
    "codabench:toggle-publish": ("post", "OR", {"A": 401, "SMTX": 404}),
    "codabench:my-profile": ("get", SIGNED_IN, {"A": 401}),
    "codabench:phases": ("get", EVERYBODY, {}),
    "codabench:phase": ("get", EVERYBODY, {}),
    "codabench:board": ("get", EVERYBODY, {}),
    "codabench:participant": ("get", "OR", {"A": 401, "SMTX": 404}),
    "codabench:queue": ("get", SIGNED_IN, {"A": 401}),
    "codabench:task": ("get", "OR", {"A": 401, "SMTX": 404}),
    "codabench:detail-result": ("get", "", {EVERYBODY: 404}),  # the phase shows none
    **{f"codabench:{name}": ("get", "", {EVERYBODY: 409}) for calls in REFUSED_CALLS.values() for name in calls},
    "codabench:creation-status": ("get", "", {"A": 401, "SMTOXR": 404}),
    "api:notifications": ("get", SIGNED_IN, {"A": 401}),
    "api:notifications-read": ("post", "", {"A": 401, "SMTOXR": 400}),
    "api:bundles": ("post", "", {"A": 401, "SMT": 403, "OXR": 422}),
    "api:bundle-import": ("get", "", {"A": 401, "SMTOXR": 404}),
    "api:bundle": ("post", "OR", {"A": 401, "SMTX": 404}),
    "api:document": ("get", "OR", {"A": 401, "SMTX": 404}),
    "api:document-file": ("get", "", {"A": 401, "SMTOXR": 404}),
    "api:publish": ("post", "OR", {"A": 401, "SMTX": 404}),
    "api:pushes": ("post", "", {"A": 401, "SMTOXR": 400}),
    "api:push": ("get", "", {"A": 401, "SMTOXR": 404}),
    "api:push-apply": ("post", "", {"A": 401, "SMTOXR": 404}),
    "api:export": ("get", "", {"A": 401, "SMTOXR": 404}),
    "api:export-file": ("get", "", {"A": 401, "SMTOXR": 404}),
    "web:bundles": ("get", "OXR", {"A": 302, "SMT": 403}),
    "web:bundle-send": ("post", "", {"A": 302, "SMT": 403, "OXR": 422}),
    "web:bundle-import": ("get", "", {"A": 302, "SMT": 403, "OXR": 404}),
    "web:bundle-status": ("get", "", {"A": 302, "SMT": 403, "OXR": 404}),
    "web:bundle-export": ("post", "OR", {"A": 302, "SMT": 403, "X": 404}),
    "web:bundle-export-page": ("get", "", {"A": 302, "SMT": 403, "OXR": 404}),
    "web:bundle-export-status": ("get", "", {"A": 302, "SMT": 403, "OXR": 404}),
    "web:bundle-export-file": ("get", "", {"A": 302, "SMT": 403, "OXR": 404}),
    "web:bundle-clone": ("post", "OR", {"A": 302, "SMT": 403, "X": 404}),
    "codabench:board-connection": ("post", "", {"A": 401, "STX": 404, "M": 409, "OR": 403}),
    "codabench:update-fact-sheet": ("patch", "", {"A": 401, "STX": 404, "MOR": 415}),
    "codabench:phase-board": ("get", EVERYBODY, {}),
    "codabench:migrate": ("post", "OR", {"A": 401, "SMTX": 403}),
    "codabench:results-json": ("get", EVERYBODY, {}),
    "codabench:results-csv": ("get", EVERYBODY, {}),
    "codabench:results-zip": ("get", EVERYBODY, {}),
    "codabench:competition-files": ("get", "OR", {"A": 401, "SMTX": 404}),
    "codabench:rerun-phase": ("post", "OR", {"A": 401, "SMTX": 403}),
    "codabench:run-submission": ("post", "", {"A": 401, "STX": 404, "M": 403, "OR": 409}),
    "codabench:toggle-public": ("post", "", {"A": 401, "STX": 404, "MOR": 409}),
    "codabench:soft-delete": ("delete", "", {"A": 401, "STX": 404, "MOR": 409}),
    "codabench:delete-many": ("post", "", {"A": 401, "SMTOXR": 409}),
    "codabench:rerun-many": ("post", "", {"A": 401, "SMTOXR": 400}),
    "codabench:download-many": ("post", "", {"A": 401, "SMTOXR": 400}),
    "codabench:dump": ("post", "OR", {"A": 401, "SMTX": 404}),
    "codabench:dump-file": ("get", "", {EVERYBODY: 404}),
    "codabench:upload-task": ("post", "", {"A": 401, "SMT": 403, "OXR": 400}),
    "codabench:queues": ("get", SIGNED_IN, {"A": 401}),
    "codabench:participants": ("get", SIGNED_IN, {"A": 401}),
    "codabench:user-quota": ("get", SIGNED_IN, {"A": 401}),
    "codabench:organizations": ("get", SIGNED_IN, {"A": 401}),
    "codabench:upload": ("put", "", {EVERYBODY: 404}),
    "codabench:submissions": ("get", SIGNED_IN, {"A": 401}),
    "codabench:submission": ("get", "MOR", {"A": 401, "STX": 404}),
    "codabench:details": ("get", "MOR", {"A": 401, "STX": 404}),
    "codabench:cancel": ("post", "MOR", {"A": 401, "STX": 404}),
    "codabench:rerun": ("post", "", {"A": 401, "STX": 404, "M": 403, "OR": 409}),
    "codabench:tasks": ("get", SIGNED_IN, {"A": 401}),
    "codabench:file": ("get", "", {EVERYBODY: 404}),
    "codabench:output": ("get", "", {EVERYBODY: 404}),
    "web:submission-details": ("get", "", {"A": 302, "SMTOXR": 404}),
    "worker-register": ("post", "", {EVERYBODY: 401}),
    "worker-claim": ("post", "", {EVERYBODY: 401}),
    "worker-file": ("get", "", {EVERYBODY: 401}),
    "worker-heartbeat": ("post", "", {EVERYBODY: 401}),
    "worker-output": ("put", "", {EVERYBODY: 401}),
    "worker-complete": ("post", "", {EVERYBODY: 401}),
    "worker-release": ("post", "", {EVERYBODY: 401}),
    "launcher-depth": ("get", "", {EVERYBODY: 401}),
    "launcher-queue-depth": ("get", "", {EVERYBODY: 401}),
    "launcher-report": ("post", "", {EVERYBODY: 401}),
}


@dataclass
class PermissionSite:
    """A world, and one of each kind of person."""

    site: Scenario
    people: dict[str, Client]
    arguments: dict[str, Any]


def user_client(user: Any) -> Client:
    """A browser in which this person has signed in.

    Its session is written once, as signing in leaves it. `Client.force_login` writes three, and asks for each before.
    """
    session = SessionStore()
    session[SESSION_KEY] = user._meta.pk.value_to_string(user)
    session[BACKEND_SESSION_KEY] = settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.save()
    client = Client()
    client.cookies[settings.SESSION_COOKIE_NAME] = str(session.session_key)
    return client


def make_permission_site(site: Scenario) -> PermissionSite:
    stranger, other = person(), site.join("Other team")
    root, elsewhere = person(is_staff=True, is_superuser=True), scenario()
    guest = person()
    register(user=guest, competition=site.competition, rules_version=1, now=site.now)
    invitation = invite(team=site.team, by=site.team.captain, person=guest.username, now=timezone.now())
    link = link_make(team=site.team, by=site.team.captain, max_uses=1, days=1, now=timezone.now())
    merge = merge_propose(team=site.team, by=site.team.captain, other_name=other.name, now=timezone.now())
    site.competition.series = Series.objects.create(slug=site.competition.slug, title="All tracks")
    phase = site.phase
    phase.starting_kit = phase.tasks.get().scoring_program
    phase.save()
    site.competition.logo = site.competition.cover = store_bytes(png_bytes())
    PageImage.objects.create(competition=site.competition, name="plot.png", file=store_bytes(png_bytes()))
    page = Page(competition=site.competition, tab=Page.Tab.OWN, title="How to", body="Begin here.")
    page_save(page)
    RegistrationQuestion.objects.create(competition=site.competition, key="asked", title="Real name")
    site.competition.save()
    submission = site.submit(kind=Kind.CODE)
    message: dict[str, Any] = {"subject": "News", "text": "Text.", "path": "/"}
    notify_person(user=site.member(), kind=Told.ANNOUNCEMENT, competition=site.competition, **message)
    with_smoke_run(site)
    run = submission.runs.get()
    weights = EnvironmentFile.objects.create(
        team=site.team,
        kind="weights",
        name="gap-model",
        version=1,
        file=store_bytes(b"w"),
        file_name="w.npz",
        size_bytes=1,
        state="ready",
        uploaded_by=site.member(),
        created_at=site.now,
        last_used_at=site.now,
    )
    Submission.objects.filter(pk=submission.pk).update(weights=weights)
    RunOutput.objects.create(run=run, attempt=1, name="predictions.zip", file=store_bytes(b"x"))
    upload = site.member().uploads.earliest("pk")
    draft = draft_begin(owner=site.organizer, start=CompetitionDraft.Start.CODE, now=site.now)
    news = Announcement.objects.create(competition=site.competition, title="News", body="Read.", published_at=site.now)
    lane = Lane.objects.create(leaderboard=phase.leaderboard)
    place = Place.objects.create(
        lane=lane,
        team=site.team,
        submission=submission,
        rank=1,
        invited_at=timezone.now(),
        due_at=site.now + timedelta(days=9),
    )
    webhook = Webhook.objects.create(
        competition=site.competition, team=site.team, url="https://example.org/", created_at=site.now
    )
    proposal = proposal_begin(
        competition=site.competition, title="Other labels", reason="Wrong rows.", by=site.organizer, now=site.now
    )
    Profile.objects.create(
        user=site.member(), is_public=True, shows_competitions=True, shows_ranks=True, shows_teams=True
    )
    people = {
        "S": stranger,
        "M": site.member(),
        "T": site.member(other),
        "O": site.organizer,
        "X": elsewhere.organizer,
        "R": root,
    }
    return PermissionSite(
        site=site,
        people={"A": Client(), **{letter: user_client(user) for letter, user in people.items()}},
        arguments={
            "slug": site.competition.slug, "phase_slug": phase.slug, "pk": submission.pk, "run_id": run.pk, "token": "forged",
            "name": "predictions.zip", "key": invitation.key, "board_key": "main", "action": "report", "place": place.key,
            "team": site.team.key, "number": news.pk, "upload": upload.key, "merge": merge.key, "draft": draft.key, "role": "input_data",
            "environment_file": weights.key, "page": page.pk, "sha256": "0" * 64, "webhook": webhook.key,
            "column_key": "mae", "proposal": proposal.number, "link": link.key, "link_token": signed_token(link),
            **discussion_arguments(site),
            "notification": Notification.objects.filter(user=site.member()).earliest("pk").pk,
        },
    )  # fmt: skip


def discussion_arguments(site: Scenario) -> dict[str, Any]:
    """A topic of the team's member, its first post, and an image in it."""
    member, file = site.member(), store_bytes(png_bytes())
    draft = Draft(member, "Which seed do you use?")
    post = topic_create(competition=site.competition, draft=draft, title="Seeds", now=site.now)
    image = PostImage.objects.create(
        competition=site.competition, author=member, post=post, file=file, created_at=site.now
    )
    return {"topic": post.topic_id, "post": post.pk, "image": image.key}


def named_patterns() -> Iterator[tuple[str, URLPattern]]:
    """Each URL by its name, with a pattern that has the arguments of all that it is included in."""

    def walk(resolver: URLResolver, namespace: str, prefix: str) -> Iterator[tuple[str, URLPattern]]:
        for pattern in resolver.url_patterns:
            route = f"{prefix}{pattern.pattern}"
            if isinstance(pattern, URLResolver):
                inner = f"{namespace}{pattern.namespace}:" if pattern.namespace else namespace
                yield from walk(pattern, inner, route if pattern.pattern.converters else prefix)
            else:
                name = f"{namespace}{pattern.name or pattern.pattern}"
                if prefix:
                    whole = RoutePattern(route, is_endpoint=True)
                    pattern = URLPattern(whole, pattern.callback, pattern.default_args, pattern.name)
                yield name, pattern

    yield from walk(get_resolver(), "", "")


BY_COMPETITION = (
    "codabench:competition",
    "codabench:competition-bare",
    "codabench:register",
    "codabench:results-json",
    "codabench:results-csv",
    "codabench:results-zip",
    "codabench:dump",
    "codabench:competition-files",
    "codabench:toggle-publish",
)


DRAFT_PAGES = (
    "draft",
    "step",
    "step-wait",
    "trial",
    "build-status",
    "review",
    "file-status",
    "preview",
    "detach",
    "discard",
    "attach",
    "build",
    "publish",
)


BY_PHASE = (
    "codabench:can-make-submission",
    "codabench:phase-board",
    "codabench:migrate",
    "codabench:rerun-phase",
    "codabench:phase",
)


def depends_on_seal(pattern: URLPattern) -> bool:
    """True of an address that names a phase, an entry, a submission or its run."""
    return not OF_SCORES.isdisjoint(pattern.pattern.converters)


def page_url(permissions: PermissionSite, name: str, pattern: URLPattern) -> str:
    given = permissions.arguments | url_arguments(permissions, name)
    return reverse(name, kwargs={key: given[key] for key in pattern.pattern.converters})


def url_arguments(permissions: PermissionSite, name: str) -> dict[str, Any]:
    """The arguments of this address that differ from those of most."""
    if name.startswith("web:winners-"):
        return {"key": permissions.arguments["place"]}
    if name.startswith(("organize:proposal", "web:change")):
        task = permissions.site.phase.tasks.get()
        return {"number": permissions.arguments["proposal"], "pk": task.pk, "name": "scoring_program"}
    if ":merge-" in name:
        return {"key": permissions.arguments["merge"]}
    return next((arguments(permissions) for names, arguments in OTHERWISE.items() if name in names), {})


def kit_key(permissions: PermissionSite) -> dict[str, Any]:
    kit = permissions.site.phase.starting_kit
    return {"key": kit.key if kit else None}


def in_workspace(*names: str) -> tuple[str, ...]:
    return tuple(f"organize:{name}" for name in names)


# Names of addresses, and what makes their arguments: each asks the database, so only the one that is wanted is made.
OTHERWISE: dict[tuple[str, ...], Callable[[PermissionSite], dict[str, Any]]] = {
    ("web:demo-enter",): lambda world: {"username": world.site.member().username},
    in_workspace(*DRAFT_PAGES): lambda world: {"key": world.arguments["draft"], "slug": "program"},
    in_workspace("page", "page-act"): lambda world: {"pk": world.arguments["page"], "action": "up"},
    in_workspace("phase", "phase-delete", "board-new"): lambda world: {"pk": world.site.phase.pk},
    in_workspace("file"): lambda world: {"owner": "phase", "pk": world.site.phase.pk, "name": "starting_kit"},
    in_workspace("board", "board-delete", "winners"): lambda world: {"pk": world.site.phase.leaderboard.pk},
    in_workspace("question-new", "question", "question-delete"): lambda world: {
        "kind": "registration",
        "pk": world.site.competition.registration_questions.get().pk,
    },
    in_workspace(*OWN_FILE): kit_key,
    in_workspace(
        "queue", "queue-settings", "queue-gpu-hours", "queue-usage-csv", "queue-token", "queue-worker"
    ): lambda world: {
        "name": world.site.queue.name,
        "key": world.arguments["draft"],
    },
    in_workspace("task", "task-delete", "solution", "solution-status"): lambda world: {
        "pk": world.site.phase.tasks.get().pk
    },
    BY_COMPETITION: lambda world: {"pk": world.site.competition.pk},
    BY_PHASE: lambda world: {"pk": world.site.phase.pk},
    ("web:environment-remove", "api:environment-file", "organize:team-file-remove"): lambda world: {
        "key": world.arguments["environment_file"]
    },
    ("api:upload", "codabench:upload-completed"): lambda world: {"key": world.arguments["upload"]},
    ("web:entry", "web:entry-details"): lambda world: {"pk": world.arguments.get("entry", 0)},
    ("codabench:dataset", "dataset-download"): kit_key,
    ("web:link-revoke",): lambda world: {"key": world.arguments["link"]},
    ("web:link",): lambda world: {"token": world.arguments["link_token"]},
    ("web:page-markdown",): lambda world: {"name": "leaderboard"},
    ("web:own-page-markdown",): lambda world: {"name": "how-to"},
    ("web:page",): lambda world: {"page_slug": "how-to"},
    ("codabench:board",): lambda world: {"pk": world.site.phase.leaderboard.pk},
    ("codabench:participant",): lambda world: {"pk": world.site.competition.registrations.earliest("pk").pk},
    ("api:task",): lambda world: {"key": world.site.phase.tasks.get().key},
    ("api:queue", "launcher-queue-depth"): lambda world: {"name": world.site.queue.name},
    ("codabench:queue",): lambda world: {"pk": world.site.queue.pk},
    ("codabench:task",): lambda world: {"pk": world.site.phase.tasks.get().pk},
    ("web:download", "api:file"): lambda world: {"name": "starting_kit"},
    ("web:docs-page",): lambda world: {"address": "participants/"},
    ("web:legal",): lambda world: {"name": "imprint"},
    ("web:image",): lambda world: {"name": "plot.png"},
    ("web:webhook", "web:webhook-act"): lambda world: {"key": world.arguments["webhook"]},
    ("web:calendar",): lambda world: {
        "token": calendar_url(world.site.member()).rpartition("/")[2].removesuffix(".ics")
    },
    ("web:notification",): lambda world: {"pk": world.arguments["notification"]},
    ("web:notifications-stop",): lambda world: {"token": OptOut(world.site.member().pk).token},
    (
        "web:topic",
        "web:topic-markdown",
        "api:topic-posts",
        "api:topic",
        "api:topic-solution",
        "api:topic-decision",
        "web:topic-feed",
        "web:topic-reply",
        "web:topic-follow",
        "web:topic-solve",
        "organize:topic-act",
    ): lambda world: {"pk": world.arguments["topic"]},
    (
        "web:post-edit",
        "web:post-delete",
        "web:post-history",
        "web:post-report",
        "organize:post-act",
        "api:post",
        "api:post-reports",
        "api:post-decision",
    ): lambda world: {"pk": world.arguments["post"]},
    ("api:exclusion", "api:block"): lambda world: {"username": world.site.member().username},
    ("web:post-image",): lambda world: {"key": world.arguments["image"]},
    ("organize:writer-readmit",): lambda world: {"pk": world.site.member().pk},
    ("web:person", "web:person-report", "web:person-block", "api:person"): lambda world: {
        "username": world.site.member().username
    },
    ("web:own-data-file",): lambda world: {"pk": 0},
    ("web:public-team",): lambda world: {"key": world.site.team.key},
    ("accounts:token-revoke",): lambda world: {"pk": 0},
}


def body_text(response: Any) -> str:
    """The text of a response, read to its end, so that a served file is closed."""
    content = b"".join(response.streaming_content) if response.streaming else response.content
    response.close()
    return content.decode("utf-8", "replace")
