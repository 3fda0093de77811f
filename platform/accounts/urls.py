"""URLs of the profile, below /profile/."""

from django.urls import path

from accounts import views

app_name = "accounts"
urlpatterns = [
    path("", views.profile, name="profile"),
    path("public/", views.public, name="public"),
    path("tokens/", views.token_make, name="token-make"),
    path("tokens/<int:pk>/revoke/", views.token_revoke, name="token-revoke"),
]
