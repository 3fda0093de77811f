"""URLs of the native API, below /api/v1/."""

from django.urls import path
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView

from competitions.api.views import (
    accounts,
    bundles,
    competitions,
    environments,
    leaderboards,
    notifications,
    pushes,
    settings,
    submissions,
    uploads,
)

app_name = "api"
urlpatterns = [
    path("schema/", SpectacularAPIView.as_view(), name="schema"),
    path("docs/", SpectacularSwaggerSplitView.as_view(url_name="api:schema"), name="docs"),
    path("me/", accounts.Me.as_view(), name="me"),
    path("competitions/", competitions.CompetitionList.as_view(), name="competitions"),
    path("competitions/<slug:slug>/", competitions.CompetitionDetail.as_view(), name="competition"),
    path("competitions/<slug:slug>/files/", competitions.CompetitionFiles.as_view(), name="files"),
    path(
        "competitions/<slug:slug>/phases/<slug:phase_slug>/files/<slug:name>/",
        competitions.PhaseFile.as_view(),
        name="file",
    ),
    path("competitions/<slug:slug>/registration/", competitions.RegistrationView.as_view(), name="registration"),
    path("competitions/<slug:slug>/team/", competitions.TeamView.as_view(), name="team"),
    path("competitions/<slug:slug>/team/invitations/", competitions.TeamInvitations.as_view(), name="team-invitations"),
    path("competitions/<slug:slug>/team/merges/", competitions.TeamMerges.as_view(), name="team-merges"),
    path("merges/<uuid:key>/accept/", competitions.MergeAnswer.as_view(), {"answer": "accept"}, name="merge-accept"),
    path("merges/<uuid:key>/decline/", competitions.MergeAnswer.as_view(), {"answer": "decline"}, name="merge-decline"),
    path(
        "merges/<uuid:key>/withdraw/", competitions.MergeAnswer.as_view(), {"answer": "withdraw"}, name="merge-withdraw"
    ),
    path("competitions/<slug:slug>/settings/", settings.CompetitionSettings.as_view(), name="competition-settings"),
    path("competitions/<slug:slug>/phases/<slug:phase_slug>/", settings.PhaseSettings.as_view(), name="phase"),
    path(
        "competitions/<slug:slug>/phases/<slug:phase_slug>/boards/<slug:board_key>/",
        settings.BoardSettings.as_view(),
        name="board",
    ),
    path(
        "competitions/<slug:slug>/phases/<slug:phase_slug>/boards/<slug:board_key>/columns/<str:column_key>/",
        settings.ColumnSettings.as_view(),
        name="column",
    ),
    path("tasks/<uuid:key>/", settings.TaskSettings.as_view(), name="task"),
    path("queues/<str:name>/", settings.QueueSettings.as_view(), name="queue"),
    path(
        "competitions/<slug:slug>/phases/<slug:phase_slug>/fact-sheet/",
        submissions.FactSheet.as_view(),
        name="fact-sheet",
    ),
    path("competitions/<slug:slug>/phases/<slug:phase_slug>/smoke/", submissions.PhaseSmoke.as_view(), name="smoke"),
    path("competitions/<slug:slug>/phases/<slug:phase_slug>/limits/", submissions.Limits.as_view(), name="limits"),
    path(
        "competitions/<slug:slug>/phases/<slug:phase_slug>/leaderboard/",
        leaderboards.LeaderboardDetail.as_view(),
        name="leaderboard",
    ),
    path("competitions/<slug:slug>/phases/<slug:phase_slug>/winners/", leaderboards.Winners.as_view(), name="winners"),
    path(
        "competitions/<slug:slug>/phases/<slug:phase_slug>/commitment/",
        leaderboards.CommitmentDetail.as_view(),
        name="commitment",
    ),
    path(
        "competitions/<slug:slug>/phases/<slug:phase_slug>/leaderboard.csv",
        leaderboards.LeaderboardCsv.as_view(),
        name="leaderboard-csv",
    ),
    path(
        "competitions/<slug:slug>/weights/",
        environments.EnvironmentFiles.as_view(),
        {"kind": "weights"},
        name="weights",
    ),
    path("competitions/<slug:slug>/images/", environments.EnvironmentFiles.as_view(), {"kind": "image"}, name="images"),
    path("environment-files/<uuid:key>/", environments.EnvironmentFileDetail.as_view(), name="environment-file"),
    path("invitations/", competitions.MyInvitations.as_view(), name="invitations"),
    path(
        "invitations/<uuid:key>/accept/",
        competitions.InvitationAnswer.as_view(),
        {"answer": "accept"},
        name="invitation-accept",
    ),
    path(
        "invitations/<uuid:key>/decline/",
        competitions.InvitationAnswer.as_view(),
        {"answer": "decline"},
        name="invitation-decline",
    ),
    path("notifications/", notifications.Notifications.as_view(), name="notifications"),
    path("notifications/read/", notifications.NotificationsRead.as_view(), name="notifications-read"),
    path("bundles/", bundles.Bundles.as_view(), name="bundles"),
    path("bundles/<int:pk>/", bundles.BundleImported.as_view(), name="bundle-import"),
    path("competitions/<slug:slug>/bundle/", bundles.CompetitionBundle.as_view(), name="bundle"),
    path("competitions/<slug:slug>/document/", pushes.CompetitionDocument.as_view(), name="document"),
    path(
        "competitions/<slug:slug>/document/files/<slug:sha256>/",
        pushes.CompetitionDocumentFile.as_view(),
        name="document-file",
    ),
    path("competitions/<slug:slug>/publish/", pushes.CompetitionPublish.as_view(), name="publish"),
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
    path("competitions/<slug:slug>/submissions.csv", submissions.SubmissionsCsv.as_view(), name="submissions-csv"),
    path(
        "competitions/<slug:slug>/submissions/start/", submissions.SubmissionsStart.as_view(), name="submissions-start"
    ),
    path("submissions/<int:pk>/withdraw/", submissions.SubmissionWithdraw.as_view(), name="submission-withdraw"),
    path(
        "submissions/<int:pk>/boards/<slug:board_key>/", submissions.SubmissionBoard.as_view(), name="submission-board"
    ),
    path("submissions/<int:pk>/fact-sheet/", submissions.SubmissionFactSheet.as_view(), name="submission-fact-sheet"),
    path("submissions/<int:pk>/logs/", submissions.SubmissionLogs.as_view(), name="submission-logs"),
    path("submissions/<int:pk>/receipt/", submissions.SubmissionReceipt.as_view(), name="submission-receipt"),
    path("submissions/<int:pk>/download/", submissions.SubmissionDownload.as_view(), name="submission-download"),
]
