"""Codabench's calls without a counterpart here: each is refused with the reason and an alternative."""

from dataclasses import dataclass
from typing import Any, Final

from django.urls import URLPattern, path
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import Scope
from competitions.codabench_api.base import RobotView
from core.refusals import RefusalKind

MANAGED_ELSEWHERE: Final = RefusalKind(
    409, "managed_elsewhere", "{what} where it is shown first what a change does to what uses them: {where}."
)

NOT_OFFERED: Final = RefusalKind(409, "not_offered", "{detail}")


@dataclass(frozen=True)
class RefusedCall:
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
REFUSED_CALLS: Final = (
    RefusedCall("data_groups/", "data-groups", GROUPS),
    RefusedCall("data_groups/<int:pk>/", "data-group", GROUPS),
    RefusedCall(
        "datasets/public/",
        "datasets-public",
        "Datasets are shared among organizers. What participants may download stands at each phase of /api/competitions/ID/.",
    ),
    RefusedCall("datasets/delete_many/", "datasets-delete", KEPT),
    RefusedCall("tasks/delete_many/", "tasks-delete", KEPT),
    RefusedCall(
        "leaderboards/",
        "boards",
        "Leaderboards belong to phases: GET /api/phases/ says which, and the workspace makes them.",
    ),
    RefusedCall("submission_scores/", "submission-scores", SCORES),
    RefusedCall("submission_scores/<int:pk>/", "submission-score", SCORES),
    RefusedCall("upload_submission_scores/<int:pk>/", "upload-scores", SCORES),
    RefusedCall(
        "add_submission_to_leaderboard/<int:pk>/",
        "add-to-leaderboard",
        "POST /api/submissions/ID/submission_leaderboard_connection/ puts a submission on the board.",
    ),
    RefusedCall(
        "participants/send_email/",
        "participant-mail",
        "Programs send no mail to people. Write an announcement or a mail in the organizer's workspace.",
    ),
    RefusedCall(
        "participants/<int:pk>/send_email/",
        "one-participant-mail",
        "Programs send no mail to people. Write an announcement or a mail in the organizer's workspace.",
    ),
    RefusedCall(
        "competitions/<int:pk>/email_all_participants/",
        "mail-all",
        "Programs send no mail to people. Write an announcement or a mail in the organizer's workspace.",
    ),
    RefusedCall(
        "competitions/<int:pk>/update_images/",
        "update-images",
        "A logo is changed in the organizer's workspace, under Settings.",
    ),
    RefusedCall(
        "competitions/front_page/",
        "front-page",
        "Nothing is counted as popular or featured here. GET /api/competitions/public/ lists what is published.",
    ),
    RefusedCall(
        "front_page_stats/",
        "front-page-stats",
        FIGURES,
    ),
    RefusedCall("organizations/<int:pk>/", "organization", ORGANIZATIONS),
    RefusedCall("organizations/<int:pk>/<str:action>/", "organization-action", ORGANIZATIONS),
    RefusedCall("organizations/<str:action>/", "organizations-action", ORGANIZATIONS),
    RefusedCall("users/participant_organizations/", "participant-organizations", ORGANIZATIONS),
    RefusedCall(
        "users/<int:pk>/",
        "user",
        "People change their own data at /profile/ and /accounts/, and nobody's by program.",
    ),
    RefusedCall(
        "user_lookup/",
        "user-lookup",
        "People are not searched for by program. Administrators find them in the admin; organizers see their participants.",
    ),
    RefusedCall("user_quota_cleanup/", "quota-cleanup", KEPT),
    RefusedCall("delete_unused_tasks/", "delete-unused-tasks", KEPT),
    RefusedCall("delete_unused_datasets/", "delete-unused-datasets", KEPT),
    RefusedCall("delete_unused_submissions/", "delete-unused-submissions", KEPT),
    RefusedCall("delete_failed_submissions/", "delete-failed-submissions", KEPT),
    RefusedCall("analytics/", "analytics", FIGURES),
    RefusedCall("analytics/<str:action>/", "analytics-action", FIGURES),
)


class RefusedView(RobotView):
    """Says to everybody why there is nothing here, whatever is asked."""

    write_scope = Scope.READ  # nothing is read or changed
    reason = ""

    def get(self, request: Request, **kwargs: Any) -> Response:
        raise NOT_OFFERED(detail=self.reason)

    post = put = patch = delete = get


def refused_urls() -> list[URLPattern]:
    return [path(call.route, RefusedView.as_view(reason=call.reason), name=call.name) for call in REFUSED_CALLS]
