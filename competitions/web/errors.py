"""Pages for what is not there, not allowed, or broken."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return render(request, "web/404.html", status=404)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return render(request, "web/403.html", status=403)


def server_error(request: HttpRequest) -> HttpResponse:
    return render(request, "web/500.html", status=500)
