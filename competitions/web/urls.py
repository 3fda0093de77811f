"""URLs of the pages."""

from django.urls import path

from competitions.web.views import competitions, leaderboard, reveal, submissions, teams

app_name = "web"
urlpatterns = [
    path("", competitions.index, name="index"),
    path("series/<slug:slug>/", competitions.series, name="series"),
    path("competitions/<slug:slug>/", competitions.overview, name="overview"),
    path("competitions/<slug:slug>/data/", competitions.data, name="data"),
    path("competitions/<slug:slug>/rules/", competitions.rules, name="rules"),
    path("competitions/<slug:slug>/join/", competitions.join, name="join"),
    path("competitions/<slug:slug>/logo/", competitions.logo, name="logo"),
    path("competitions/<slug:slug>/files/<slug:phase_slug>/<str:name>/", competitions.download, name="download"),
    path("competitions/<slug:slug>/leaderboard/", leaderboard.leaderboard, name="leaderboard"),
    path("competitions/<slug:slug>/leaderboard/history/", leaderboard.history, name="history"),
    path(
        "competitions/<slug:slug>/leaderboard/<slug:phase_slug>.csv",
        leaderboard.leaderboard_csv,
        name="leaderboard-csv",
    ),
    path(
        "competitions/<slug:slug>/leaderboard/<slug:phase_slug>/<slug:board_key>/manifest.json",
        reveal.manifest,
        name="manifest",
    ),
    path(
        "competitions/<slug:slug>/leaderboard/<slug:phase_slug>/<slug:board_key>/shake-up/",
        reveal.shake_up,
        name="shake-up",
    ),
    path("competitions/<slug:slug>/reveal/<slug:phase_slug>/", reveal.reveal, name="reveal"),
    path("competitions/<slug:slug>/team/", teams.team, name="team"),
    path("competitions/<slug:slug>/team/create/", teams.create, name="team-create"),
    path("competitions/<slug:slug>/team/rename/", teams.rename, name="team-rename"),
    path("competitions/<slug:slug>/team/invite/", teams.invite, name="team-invite"),
    path("competitions/<slug:slug>/team/captain/", teams.hand_over, name="team-captain"),
    path("competitions/<slug:slug>/team/merge/", teams.merge_propose, name="team-merge"),
    path("merges/<uuid:key>/accept/", teams.merge_answer, {"answer": "accept"}, name="merge-accept"),
    path("merges/<uuid:key>/decline/", teams.merge_answer, {"answer": "decline"}, name="merge-decline"),
    path("merges/<uuid:key>/withdraw/", teams.merge_answer, {"answer": "withdraw"}, name="merge-withdraw"),
    path("competitions/<slug:slug>/team/leave/", teams.leave, name="team-leave"),
    path("invitations/<uuid:key>/accept/", teams.answer, {"answer": "accept"}, name="invitation-accept"),
    path("invitations/<uuid:key>/decline/", teams.answer, {"answer": "decline"}, name="invitation-decline"),
    path("invitations/<uuid:key>/withdraw/", teams.answer, {"answer": "withdraw"}, name="invitation-withdraw"),
    path("competitions/<slug:slug>/submissions/", submissions.submissions, name="submissions"),
    path("competitions/<slug:slug>/submit/", submissions.submit, name="submit"),
    path("submissions/<int:pk>/", submissions.detail, name="submission"),
    path("submissions/<int:pk>/row/", submissions.row, name="submission-row"),
    path("submissions/<int:pk>/live/", submissions.live, name="submission-live"),
    path("submissions/<int:pk>/cancel/", submissions.cancel, name="submission-cancel"),
    path(
        "submissions/<int:pk>/boards/<slug:board_key>/add/",
        submissions.pick,
        {"action": "add"},
        name="submission-pick",
    ),
    path(
        "submissions/<int:pk>/boards/<slug:board_key>/remove/",
        submissions.pick,
        {"action": "remove"},
        name="submission-unpick",
    ),
    path("submissions/<int:pk>/fact-sheet/", submissions.fact_sheet, name="submission-fact-sheet"),
    path("submissions/<int:pk>/file/", submissions.source, name="submission-file"),
    path("submissions/<int:pk>/outputs/<str:name>/", submissions.output, name="submission-output"),
    path("submissions/<int:pk>/details/<uuid:run_id>/", submissions.details, name="submission-details"),
]
