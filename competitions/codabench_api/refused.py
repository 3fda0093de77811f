"""Codabench's calls without a counterpart here: each is refused with the reason and an alternative."""

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


# By the reason why there is nothing behind them: the paths below /api/ of calls, by their names.
REFUSED_CALLS: Final[dict[str, dict[str, str]]] = {
    "Files are not grouped here: share a file under Host, Your files, by the person.": {
        "data-groups": "data_groups/",
        "data-group": "data_groups/<int:pk>/",
    },
    "Datasets are shared among organizers. What participants may download stands at each phase of /api/competitions/ID/.": {
        "datasets-public": "datasets/public/",
    },
    "Nothing is deleted in bulk: results stay reproducible, and unused files are found and removed by the site itself.": {
        "datasets-delete": "datasets/delete_many/",
        "tasks-delete": "tasks/delete_many/",
        "quota-cleanup": "user_quota_cleanup/",
        "delete-unused-tasks": "delete_unused_tasks/",
        "delete-unused-datasets": "delete_unused_datasets/",
        "delete-unused-submissions": "delete_unused_submissions/",
        "delete-failed-submissions": "delete_failed_submissions/",
    },
    "Leaderboards belong to phases: GET /api/phases/ says which, and the workspace makes them.": {
        "boards": "leaderboards/"
    },
    "Scores come from the scoring program alone. To change one, correct the program and run the submission again.": {
        "submission-scores": "submission_scores/",
        "submission-score": "submission_scores/<int:pk>/",
        "upload-scores": "upload_submission_scores/<int:pk>/",
    },
    "POST /api/submissions/ID/submission_leaderboard_connection/ puts a submission on the board.": {
        "add-to-leaderboard": "add_submission_to_leaderboard/<int:pk>/",
    },
    "Programs send no mail to people. Write an announcement or a mail in the organizer's workspace.": {
        "participant-mail": "participants/send_email/",
        "one-participant-mail": "participants/<int:pk>/send_email/",
        "mail-all": "competitions/<int:pk>/email_all_participants/",
    },
    "A logo is changed in the organizer's workspace, under Settings.": {
        "update-images": "competitions/<int:pk>/update_images/",
    },
    "Nothing is counted as popular or featured here. GET /api/competitions/public/ lists what is published.": {
        "front-page": "competitions/front_page/",
    },
    "There are no organizations: an organizer is a person, a participant a team (/competitions/SLUG/team/).": {
        "organization": "organizations/<int:pk>/",
        "organization-action": "organizations/<int:pk>/<str:action>/",
        "organizations-action": "organizations/<str:action>/",
        "participant-organizations": "users/participant_organizations/",
    },
    "People change their own data at /profile/ and /accounts/, and nobody's by program.": {"user": "users/<int:pk>/"},
    "People are not searched for by program. Administrators find them in the admin; organizers see their participants.": {
        "user-lookup": "user_lookup/",
    },
    "Figures of the whole site are at /metrics, in Prometheus's format, for its administrators.": {
        "front-page-stats": "front_page_stats/",
        "analytics": "analytics/",
        "analytics-action": "analytics/<str:action>/",
    },
}


class RefusedView(RobotView):
    """Says to everybody why there is nothing here, whatever is asked."""

    write_scope = Scope.READ  # nothing is read or changed
    reason = ""

    def get(self, request: Request, **kwargs: Any) -> Response:
        raise NOT_OFFERED(detail=self.reason)

    post = put = patch = delete = get


def refused_urls() -> list[URLPattern]:
    return [
        path(route, RefusedView.as_view(reason=reason), name=name)
        for reason, calls in REFUSED_CALLS.items()
        for name, route in calls.items()
    ]
