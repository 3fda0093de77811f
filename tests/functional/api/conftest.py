"""Fixtures of the API's tests."""

import pytest
from django.conf import LazySettings

from tests.background import run_background


@pytest.fixture
def background_meanwhile(settings: LazySettings, monkeypatch: pytest.MonkeyPatch) -> None:
    """A background process works while a call waits."""
    settings.ROBOT_WAIT_S = 0.1
    monkeypatch.setattr("competitions.codabench_api.uploads.time.sleep", lambda seconds: run_background())
