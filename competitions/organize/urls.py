"""URLs of the guided path."""

from django.urls import path

from competitions.organize.views import announcements, build, draft, settings, start, teams, workspace

app_name = "organize"
urlpatterns = [
    path("", start.start, name="start"),
    path("begin/", start.begin, name="begin"),
    path("ask/", start.ask, name="ask"),
    path("competitions/<slug:slug>/", workspace.overview, name="overview"),
    path("competitions/<slug:slug>/submissions/", workspace.submissions, name="submissions"),
    path("competitions/<slug:slug>/teams/", teams.teams, name="teams"),
    path("competitions/<slug:slug>/teams.csv", teams.teams_csv, name="teams-csv"),
    path("competitions/<slug:slug>/teams/<uuid:team>/", teams.team, name="team"),
    path("competitions/<slug:slug>/registrations/", teams.registrations, name="registrations"),
    path("competitions/<slug:slug>/registrations.csv", teams.registrations_file, name="registrations-csv"),
    path("competitions/<slug:slug>/announcements/", announcements.announcements, name="announcements"),
    path("competitions/<slug:slug>/announcements/new/", announcements.announcement, name="announcement-new"),
    path("competitions/<slug:slug>/announcements/<int:number>/", announcements.announcement, name="announcement"),
    path("competitions/<slug:slug>/mail/", announcements.mail, name="mail"),
    path("competitions/<slug:slug>/settings/", settings.settings, name="settings"),
    path("competitions/<slug:slug>/settings/organizers/", settings.organizers, name="organizers"),
    path("competitions/<slug:slug>/settings/visibility/", settings.visibility, name="visibility"),
    path("<uuid:key>/", draft.current, name="draft"),
    path("<uuid:key>/trial/", build.trial, name="trial"),
    path("<uuid:key>/trial/build/", build.build, name="build"),
    path("<uuid:key>/trial/status/", build.status, name="build-status"),
    path("<uuid:key>/review/", build.review, name="review"),
    path("<uuid:key>/review/publish/", build.publish, name="publish"),
    path("<uuid:key>/discard/", draft.discard, name="discard"),
    path("<uuid:key>/files/<str:role>/", draft.attach, name="attach"),
    path("<uuid:key>/files/<str:role>/status/", draft.file_status, name="file-status"),
    path("<uuid:key>/files/<str:role>/remove/", draft.detach, name="detach"),
    path("<uuid:key>/steps/<slug:slug>/", draft.step, name="step"),
    path("<uuid:key>/steps/<slug:slug>/preview/", draft.preview, name="preview"),
]
