"""URLs of the guided path."""

from django.urls import path

from competitions.organize.views import boards, build, data, draft, pages, phases, rules, start, workspace

app_name = "organize"
urlpatterns = [
    path("", start.start, name="start"),
    path("begin/", start.begin, name="begin"),
    path("ask/", start.ask, name="ask"),
    path("competitions/<slug:slug>/", workspace.overview, name="overview"),
    path("competitions/<slug:slug>/submissions/", workspace.submissions, name="submissions"),
    path("competitions/<slug:slug>/pages/", pages.pages, name="pages"),
    path("competitions/<slug:slug>/pages/new/", pages.page, name="page-new"),
    path("competitions/<slug:slug>/pages/<int:pk>/", pages.page, name="page"),
    path("competitions/<slug:slug>/pages/<int:pk>/<slug:action>/", pages.page_act, name="page-act"),
    path("competitions/<slug:slug>/phases/", phases.phases, name="phases"),
    path("competitions/<slug:slug>/phases/new/", phases.phase, name="phase-new"),
    path("competitions/<slug:slug>/phases/<int:pk>/", phases.phase, name="phase"),
    path("competitions/<slug:slug>/phases/<int:pk>/delete/", phases.delete, name="phase-delete"),
    path("competitions/<slug:slug>/boards/", boards.boards, name="boards"),
    path("competitions/<slug:slug>/boards/<int:pk>/", boards.board, name="board"),
    path("competitions/<slug:slug>/phases/<int:pk>/boards/new/", boards.new_board, name="board-new"),
    path("competitions/<slug:slug>/data/", data.data, name="data"),
    path("competitions/<slug:slug>/data/<slug:owner>/<int:pk>/<slug:name>/", data.file, name="file"),
    path("competitions/<slug:slug>/rules/", rules.rules, name="rules"),
    path("competitions/<slug:slug>/images/", pages.images, name="images"),
    path("competitions/<slug:slug>/images/delete/", pages.image_delete, name="image-delete"),
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
