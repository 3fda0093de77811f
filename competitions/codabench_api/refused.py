"""Calls of Codabench that have no counterpart here: each is answered with the reason and with what to do instead."""

from dataclasses import dataclass
from typing import Any, Final

from django.urls import URLPattern, path
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import Scope
from competitions.codabench_api.base import RobotView
from core.refusals import Conflict


class ManagedElsewhere(Conflict):
    code = "managed_elsewhere"

    def __init__(self, what: str, where: str) -> None:
        super().__init__(f"{what} where it is shown first what a change does to what uses them: {where}.")


class NotOffered(Conflict):
    code = "not_offered"


@dataclass(frozen=True)
class Refusal:
    """A path below /api/, its name, and why there is nothing behind it."""

    route: str
    name: str
    reason: str


GROUPS: Final = "Files are not grouped here: share a file under Files > Resources, by the person."
ORGANIZATIONS: Final = (
    "There are no organizations: an organizer is a person, a participant a team (/competitions/SLUG/team/)."
)
KEPT: Final = (
    "Nothing is deleted in bulk: results stay reproducible, and unused files are found and removed by the site itself."
)
FIGURES: Final = "Figures of the whole site are at /metrics, in Prometheus's format, for its administrators."
SCORES: Final = (
    "Scores come from the scoring program alone. To change one, correct the program and run the submission again."
)
REFUSALS: Final = (
    Refusal("data_groups/", "data-groups", GROUPS),
    Refusal("data_groups/<int:pk>/", "data-group", GROUPS),
    Refusal(
        "datasets/public/",
        "datasets-public",
        "Datasets are shared among organizers. What participants may download stands at each phase of /api/competitions/ID/.",
    ),
    Refusal("datasets/delete_many/", "datasets-delete", KEPT),
    Refusal("tasks/delete_many/", "tasks-delete", KEPT),
    Refusal(
        "leaderboards/",
        "boards",
        "Leaderboards belong to phases: GET /api/phases/ says which, and the workspace makes them.",
    ),
    Refusal("submission_scores/", "submission-scores", SCORES),
    Refusal("submission_scores/<int:pk>/", "submission-score", SCORES),
    Refusal("upload_submission_scores/<int:pk>/", "upload-scores", SCORES),
    Refusal(
        "add_submission_to_leaderboard/<int:pk>/",
        "add-to-leaderboard",
        "POST /api/submissions/ID/submission_leaderboard_connection/ puts a submission on the board.",
    ),
    Refusal(
        "participants/send_email/",
        "participant-mail",
        "Programs send no mail to people. Write an announcement or a mail in the organizer's workspace.",
    ),
    Refusal(
        "participants/<int:pk>/send_email/",
        "one-participant-mail",
        "Programs send no mail to people. Write an announcement or a mail in the organizer's workspace.",
    ),
    Refusal(
        "competitions/<int:pk>/email_all_participants/",
        "mail-all",
        "Programs send no mail to people. Write an announcement or a mail in the organizer's workspace.",
    ),
    Refusal(
        "competitions/<int:pk>/update_images/",
        "update-images",
        "A logo is changed in the organizer's workspace, under Settings.",
    ),
    Refusal(
        "competitions/front_page/",
        "front-page",
        "Nothing is counted as popular or featured here. GET /api/competitions/public/ lists what is published.",
    ),
    Refusal(
        "front_page_stats/",
        "front-page-stats",
        FIGURES,
    ),
    Refusal("organizations/<int:pk>/", "organization", ORGANIZATIONS),
    Refusal("organizations/<int:pk>/<str:action>/", "organization-action", ORGANIZATIONS),
    Refusal("organizations/<str:action>/", "organizations-action", ORGANIZATIONS),
    Refusal("users/participant_organizations/", "participant-organizations", ORGANIZATIONS),
    Refusal(
        "users/<int:pk>/",
        "user",
        "People change their own data at /profile/ and /accounts/, and nobody's by program.",
    ),
    Refusal(
        "user_lookup/",
        "user-lookup",
        "People are not searched for by program. Administrators find them in the admin; organizers see their participants.",
    ),
    Refusal("user_quota_cleanup/", "quota-cleanup", KEPT),
    Refusal("delete_unused_tasks/", "delete-unused-tasks", KEPT),
    Refusal("delete_unused_datasets/", "delete-unused-datasets", KEPT),
    Refusal("delete_unused_submissions/", "delete-unused-submissions", KEPT),
    Refusal("delete_failed_submissions/", "delete-failed-submissions", KEPT),
    Refusal("analytics/", "analytics", FIGURES),
    Refusal("analytics/<str:action>/", "analytics-action", FIGURES),
)


class RefusedView(RobotView):
    """Says to everybody why there is nothing here, whatever is asked."""

    write_scope = Scope.READ  # nothing is read or changed
    reason = ""

    def get(self, request: Request, **kwargs: Any) -> Response:
        raise NotOffered(self.reason)

    post = put = patch = delete = get


def refused_urls() -> list[URLPattern]:
    return [path(refusal.route, RefusedView.as_view(reason=refusal.reason), name=refusal.name) for refusal in REFUSALS]
