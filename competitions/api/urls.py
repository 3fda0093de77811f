"""URLs of the native API, below /api/v1/."""

from typing import Final

from django.contrib.auth.decorators import login_not_required
from django.urls import path, reverse_lazy
from django.views.generic import RedirectView

from competitions.api.views import (
    bundles,
    competitions,
    discussions,
    environments,
    leaderboards,
    moderation,
    notifications,
    people,
    pushes,
    schema,
    settings,
    submissions,
    uploads,
)

app_name = "api"
REFERENCE: Final = reverse_lazy("web:docs-page", args=["reference/api/"])
COMPETITION: Final = "competitions/<slug:slug>/"
PHASE: Final = f"{COMPETITION}phases/<slug:phase_slug>/"
urlpatterns = [
    path("schema/", schema.Schema.as_view(), name="schema"),
    path("docs/", login_not_required(RedirectView.as_view(url=REFERENCE)), name="docs"),
    path("me/", people.Me.as_view(), name="me"),
    path("competitions/", competitions.CompetitionList.as_view(), name="competitions"),
    path(COMPETITION, competitions.CompetitionDetail.as_view(), name="competition"),
    path(f"{COMPETITION}files/", competitions.CompetitionFiles.as_view(), name="files"),
    path(f"{PHASE}files/<slug:name>/", competitions.PhaseFile.as_view(), name="file"),
    path(f"{COMPETITION}topics/", discussions.Topics.as_view(), name="topics"),
    path(f"{COMPETITION}topics/<int:pk>/posts/", discussions.TopicPosts.as_view(), name="topic-posts"),
    path(f"{COMPETITION}topics/<int:pk>/", discussions.TopicDetail.as_view(), name="topic"),
    path(f"{COMPETITION}topics/<int:pk>/solution/", discussions.TopicSolution.as_view(), name="topic-solution"),
    path(f"{COMPETITION}topics/<int:pk>/decision/", moderation.TopicDecision.as_view(), name="topic-decision"),
    path(f"{COMPETITION}posts/<int:pk>/", discussions.PostDetail.as_view(), name="post"),
    path(f"{COMPETITION}posts/<int:pk>/reports/", discussions.PostReports.as_view(), name="post-reports"),
    path(f"{COMPETITION}posts/<int:pk>/decision/", moderation.PostDecision.as_view(), name="post-decision"),
    path(f"{COMPETITION}reports/", moderation.Reports.as_view(), name="reports"),
    path(f"{COMPETITION}exclusions/", moderation.Exclusions.as_view(), name="exclusions"),
    path(f"{COMPETITION}exclusions/<str:username>/", moderation.Exclusion.as_view(), name="exclusion"),
    path(f"{COMPETITION}registration/", competitions.RegistrationView.as_view(), name="registration"),
    path(f"{COMPETITION}team/", competitions.TeamView.as_view(), name="team"),
    path(f"{COMPETITION}team/invitations/", competitions.TeamInvitations.as_view(), name="team-invitations"),
    path(f"{COMPETITION}team/merges/", competitions.TeamMerges.as_view(), name="team-merges"),
    *(
        path(
            f"merges/<uuid:key>/{answer}/",
            competitions.MergeAnswer.as_view(),
            {"answer": answer},
            name=f"merge-{answer}",
        )
        for answer in ("accept", "decline", "withdraw")
    ),
    path(f"{COMPETITION}settings/", settings.CompetitionSettings.as_view(), name="competition-settings"),
    path(PHASE, settings.PhaseSettings.as_view(), name="phase"),
    path(f"{PHASE}boards/<slug:board_key>/", settings.BoardSettings.as_view(), name="board"),
    path(f"{PHASE}boards/<slug:board_key>/columns/<str:column_key>/", settings.ColumnSettings.as_view(), name="column"),
    path("tasks/<uuid:key>/", settings.TaskSettings.as_view(), name="task"),
    path("queues/<str:name>/", settings.QueueSettings.as_view(), name="queue"),
    path(f"{PHASE}fact-sheet/", submissions.FactSheet.as_view(), name="fact-sheet"),
    path(f"{PHASE}smoke/", submissions.PhaseSmoke.as_view(), name="smoke"),
    path(f"{PHASE}limits/", submissions.Limits.as_view(), name="limits"),
    path(f"{PHASE}leaderboard/", leaderboards.LeaderboardDetail.as_view(), name="leaderboard"),
    path(f"{PHASE}winners/", leaderboards.Winners.as_view(), name="winners"),
    path(f"{PHASE}commitment/", leaderboards.CommitmentDetail.as_view(), name="commitment"),
    path(f"{PHASE}leaderboard.csv", leaderboards.LeaderboardCsv.as_view(), name="leaderboard-csv"),
    path(f"{COMPETITION}weights/", environments.EnvironmentFiles.as_view(), {"kind": "weights"}, name="weights"),
    path(f"{COMPETITION}images/", environments.EnvironmentFiles.as_view(), {"kind": "image"}, name="images"),
    path("environment-files/<uuid:key>/", environments.EnvironmentFileDetail.as_view(), name="environment-file"),
    path("invitations/", competitions.MyInvitations.as_view(), name="invitations"),
    *(
        path(
            f"invitations/<uuid:key>/{answer}/",
            competitions.InvitationAnswer.as_view(),
            {"answer": answer},
            name=f"invitation-{answer}",
        )
        for answer in ("accept", "decline")
    ),
    path("people/<str:username>/", people.PersonView.as_view(), name="person"),
    path("blocks/", people.Blocks.as_view(), name="blocks"),
    path("blocks/<str:username>/", people.BlockDetail.as_view(), name="block"),
    path("notifications/", notifications.Notifications.as_view(), name="notifications"),
    path("notifications/read/", notifications.NotificationsRead.as_view(), name="notifications-read"),
    path("bundles/", bundles.Bundles.as_view(), name="bundles"),
    path("bundles/<int:pk>/", bundles.BundleImported.as_view(), name="bundle-import"),
    path(f"{COMPETITION}bundle/", bundles.CompetitionBundle.as_view(), name="bundle"),
    path(f"{COMPETITION}document/", pushes.CompetitionDocument.as_view(), name="document"),
    path(f"{COMPETITION}document/files/<slug:sha256>/", pushes.CompetitionDocumentFile.as_view(), name="document-file"),
    path(f"{COMPETITION}publish/", pushes.CompetitionPublish.as_view(), name="publish"),
    path("pushes/", pushes.Pushes.as_view(), name="pushes"),
    path("pushes/<int:pk>/", pushes.PushDetail.as_view(), name="push"),
    path("pushes/<int:pk>/apply/", pushes.PushApply.as_view(), name="push-apply"),
    path("exports/<int:pk>/", bundles.Exported.as_view(), name="export"),
    path("exports/<int:pk>/file/", bundles.ExportedFile.as_view(), name="export-file"),
    path("uploads/", uploads.UploadList.as_view(), name="uploads"),
    path("uploads/<uuid:key>/", uploads.UploadDetail.as_view(), name="upload"),
    path("submissions/", submissions.SubmissionList.as_view(), name="submissions"),
    path("submissions/<int:pk>/", submissions.SubmissionDetail.as_view(), name="submission"),
    path("submissions/<int:pk>/cancel/", submissions.SubmissionCancel.as_view(), name="submission-cancel"),
    path("submissions/<int:pk>/start/", submissions.SubmissionStart.as_view(), name="submission-start"),
    path(f"{COMPETITION}submissions.csv", submissions.SubmissionsCsv.as_view(), name="submissions-csv"),
    path(f"{COMPETITION}team/submissions.csv", submissions.TeamSubmissionsCsv.as_view(), name="team-submissions-csv"),
    path(f"{COMPETITION}slices.csv", submissions.SlicesCsv.as_view(), name="slices-csv"),
    path(f"{COMPETITION}submissions/start/", submissions.SubmissionsStart.as_view(), name="submissions-start"),
    path("submissions/<int:pk>/withdraw/", submissions.SubmissionWithdraw.as_view(), name="submission-withdraw"),
    path(
        "submissions/<int:pk>/boards/<slug:board_key>/", submissions.SubmissionBoard.as_view(), name="submission-board"
    ),
    path("submissions/<int:pk>/fact-sheet/", submissions.SubmissionFactSheet.as_view(), name="submission-fact-sheet"),
    path("submissions/<int:pk>/logs/", submissions.SubmissionLogs.as_view(), name="submission-logs"),
    path("submissions/<int:pk>/slices/", submissions.SubmissionSlices.as_view(), name="submission-slices"),
    path("submissions/<int:pk>/receipt/", submissions.SubmissionReceipt.as_view(), name="submission-receipt"),
    path("submissions/<int:pk>/download/", submissions.SubmissionDownload.as_view(), name="submission-download"),
]
