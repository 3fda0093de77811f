"""URLs of the guided path."""

from django.urls import path

from competitions.organize.views import build, draft, start, workspace

app_name = "organize"
urlpatterns = [
    path("", start.start, name="start"),
    path("begin/", start.begin, name="begin"),
    path("ask/", start.ask, name="ask"),
    path("competitions/<slug:slug>/", workspace.overview, name="overview"),
    path("competitions/<slug:slug>/submissions/", workspace.submissions, name="submissions"),
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
