"""The rate of an account's calls."""

from typing import TYPE_CHECKING

from rest_framework.throttling import UserRateThrottle

if TYPE_CHECKING:  # which reads the settings that name this module
    from rest_framework.request import Request
    from rest_framework.views import APIView


class AccountRateThrottle(UserRateThrottle):
    """Counts accounts alone: `AnonRateThrottle` counts visitors, who need not be counted twice."""

    def get_cache_key(self, request: "Request", view: "APIView") -> str | None:
        return super().get_cache_key(request, view) if request.user.is_authenticated else None
