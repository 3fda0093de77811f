"""API for Codabench's clients, below /api/ at the root; slashes at the end are optional as there."""

from django.urls import path

from competitions.codabench_api import refused, uploads, views
from competitions.codabench_api.organizers import boards, bulk, organizing

app_name = "codabench"
urlpatterns = [
    *refused.refused_urls(),
    path("api-token-auth/", views.SignIn.as_view(), name="sign-in"),
    path("competitions/", views.Competitions.as_view(), name="competitions"),
    path("competitions/public/", views.PublicCompetitions.as_view(), name="competitions-public"),
    path("competitions/<int:pk>", views.CompetitionView.as_view(), name="competition-bare"),
    path("competitions/<int:pk>/", views.CompetitionView.as_view(), name="competition"),
    path("competitions/<int:pk>/register/", views.Register.as_view(), name="register"),
    path("can_make_submission/<int:pk>/", views.CanMakeSubmission.as_view(), name="can-make-submission"),
    path("datasets/", uploads.Datasets.as_view(), name="datasets"),
    path("datasets/completed/<uuid:key>/", uploads.UploadCompleted.as_view(), name="upload-completed"),
    path("datasets/<str:key>/", uploads.DatasetView.as_view(), name="dataset"),
    path("competitions/<int:pk>/creation_status/", uploads.CreationStatus.as_view(), name="creation-status"),
    path("datasets/upload/<str:token>/", uploads.upload, name="upload"),
    path("submissions/", views.Submissions.as_view(), name="submissions"),
    path("submissions/<int:pk>/", views.SubmissionView.as_view(), name="submission"),
    path("submissions/<int:pk>/get_details/", views.SubmissionDetails.as_view(), name="details"),
    path("submissions/<int:pk>/cancel_submission/", views.Cancel.as_view(), name="cancel"),
    path("submissions/<int:pk>/re_run_submission/", views.Rerun.as_view(), name="rerun"),
    path(
        "submissions/<int:pk>/submission_leaderboard_connection/",
        boards.BoardConnection.as_view(),
        name="board-connection",
    ),
    path("submissions/<int:pk>/update_fact_sheet/", organizing.UpdateFactSheet.as_view(), name="update-fact-sheet"),
    path("submissions/<int:pk>/run_submission/", bulk.RunSubmission.as_view(), name="run-submission"),
    path(
        "submissions/<int:pk>/toggle_public/", bulk.KeptView.as_view(refusal=bulk.NOT_MADE_PUBLIC), name="toggle-public"
    ),
    path("submissions/<int:pk>/soft_delete/", bulk.KeptView.as_view(refusal=bulk.RESULTS_ARE_KEPT), name="soft-delete"),
    path("submissions/delete_many/", bulk.DeleteMany.as_view(), name="delete-many"),
    path("submissions/re_run_many_submissions/", bulk.RerunMany.as_view(), name="rerun-many"),
    path("submissions/download_many/", bulk.DownloadMany.as_view(), name="download-many"),
    path("phases/<int:pk>/rerun_submissions/", bulk.RerunPhase.as_view(), name="rerun-phase"),
    path("competitions/<int:pk>/get_files/", bulk.CompetitionFiles.as_view(), name="competition-files"),
    path("competitions/<int:pk>/results.zip", boards.Results.as_view(), {"form": "zip"}, name="results-zip"),
    path("phases/<int:pk>/get_leaderboard/", boards.PhaseBoard.as_view(), name="phase-board"),
    path("phases/<int:pk>/manually_migrate/", organizing.ManualMigration.as_view(), name="migrate"),
    path("competitions/<int:pk>/results.json", boards.Results.as_view(), {"form": "json"}, name="results-json"),
    path("competitions/<int:pk>/results.csv", boards.Results.as_view(), {"form": "csv"}, name="results-csv"),
    path("competitions/<int:pk>/create_dump/", organizing.Dump.as_view(), name="dump"),
    path("dumps/<str:token>/", organizing.dump_file, name="dump-file"),
    path("tasks/upload_task/", organizing.UploadTask.as_view(), name="upload-task"),
    path("competitions/<int:pk>/toggle_publish/", organizing.TogglePublish.as_view(), name="toggle-publish"),
    path("my_profile/", organizing.MyProfile.as_view(), name="my-profile"),
    path("phases/", organizing.Phases.as_view(), name="phases"),
    path("phases/<int:pk>/", organizing.PhaseView.as_view(), name="phase"),
    path("leaderboards/<int:pk>/", boards.BoardView.as_view(), name="board"),
    path("participants/<int:pk>/", organizing.ParticipantView.as_view(), name="participant"),
    path("queues/<int:pk>/", organizing.QueueView.as_view(), name="queue"),
    path("submissions/<int:pk>/get_detail_result/", views.DetailResult.as_view(), name="detail-result"),
    path("queues/", organizing.Queues.as_view(), name="queues"),
    path("participants/", organizing.Participants.as_view(), name="participants"),
    path("user_quota/", organizing.UserQuota.as_view(), name="user-quota"),
    path("organizations/", organizing.Organizations.as_view(), name="organizations"),
    path("tasks/<int:pk>/", views.TaskView.as_view(), name="task"),
    path("tasks/", views.Tasks.as_view(), name="tasks"),
    path("files/<str:token>/", views.file, name="file"),
    path("outputs/<str:token>/", views.output, name="output"),
]
