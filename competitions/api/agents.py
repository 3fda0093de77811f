"""The sender of a submission by the API: whose token it is, and by which door it came."""

from typing import Final

from rest_framework.request import Request

from accounts.models import ApiToken
from competitions.submissions.agents import Sender

BY_TOOL: Final = "podium.by_tool"  # in the WSGI environment of a call that an agent's tool makes


def sender(request: Request) -> Sender:
    """The agent of the token, if it is one's."""
    token = request.auth
    return Sender(token.agent if isinstance(token, ApiToken) else None, used_tool=BY_TOOL in request.META)
