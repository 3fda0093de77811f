"""The refusals of the site. Every domain error that a client can act on is one; pages, API and commands each have one handler for them."""

from files.refusals import InvalidFile, Refusal

__all__ = ["Conflict", "InvalidFile", "NotAllowed", "Refusal"]


class NotAllowed(Refusal):
    code, http_status = "not_allowed", 403


class Conflict(Refusal):
    code, http_status = "conflict", 409
