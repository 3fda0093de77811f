"""Podium in Python: `from podium import Client; Client().submit("slug", "y_pred.npz").wait().scores`."""

from podium.client import Client
from podium.errors import (
    InvalidInput,
    NotAllowed,
    PodiumError,
    Refused,
    SiteUnreachable,
    StillWaiting,
    SubmissionFailed,
)
from podium.models import Board, Competition, DownloadFile, Phase, Row, Run, Submission, Team, Verdict

__all__ = [
    "Board",
    "Client",
    "Competition",
    "DownloadFile",
    "InvalidInput",
    "NotAllowed",
    "Phase",
    "PodiumError",
    "Refused",
    "Row",
    "Run",
    "SiteUnreachable",
    "StillWaiting",
    "Submission",
    "SubmissionFailed",
    "Team",
    "Verdict",
]
