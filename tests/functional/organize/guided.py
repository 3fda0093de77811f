"""A person on the guided path: requests without script, with background work between steps."""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from competitions.compute.models import ComputeWorker
from competitions.organize.models import CompetitionDraft
from competitions.runs import dispatch
from competitions.runs.leases import reports
from competitions.runs.models import Run
from tests.admin_forms import form_fields
from tests.answers import read_result
from tests.background import run_background
from tests.permissions import user_client
from tests.scenario import Scenario, lease

SOLUTION = "id,price,area,Usage\n" + "".join(
    f"{row},{row * 1.5},{row % 3},{'Public' if row % 3 else 'Private'}\n" for row in range(30)
)


def npz(**arrays: Any) -> bytes:
    packed = io.BytesIO()
    np.savez(packed, **arrays)
    return packed.getvalue()


@dataclass
class Guided:
    """A draft and its owner's browser."""

    site: Scenario
    draft: CompetitionDraft

    @cached_property
    def client(self) -> Client:
        return user_client(self.draft.owner)

    def page(self, path: str) -> str:
        return self.client.get(f"/host/{self.draft.key}/{path}").content.decode()

    def attach(
        self, content: str | bytes, *, role: str = "solution", name: str = "solution.csv", step: str = "data"
    ) -> str:
        """Upload a file and have it read; returns what the page said at once and says then."""
        at_once: str = self._send(content, role=role, name=name, step=step, follow=True).content.decode()
        run_background(at=self.site.now)
        return at_once + self.page(f"steps/{step}/")

    def give(
        self, content: str | bytes, *, role: str = "solution", name: str = "solution.csv", step: str = "data"
    ) -> None:
        """The same without a look at the page."""
        sent = self._send(content, role=role, name=name, step=step, follow=False)
        assert sent.status_code == 302, sent.content.decode()
        run_background(at=self.site.now)

    def _send(self, content: str | bytes, *, role: str, name: str, step: str, follow: bool) -> Any:
        file = SimpleUploadedFile(name, content.encode() if isinstance(content, str) else content)
        headers = {"Referer": f"http://testserver/host/{self.draft.key}/steps/{step}/"}
        url = f"/host/{self.draft.key}/files/{role}/"
        return self.client.post(url, {"file": file}, follow=follow, headers=headers)

    def answer(self, step: str, go: str = "next", **values: Any) -> Any:
        """Open a step, change these fields and send it."""
        client, url = self.client, f"/host/{self.draft.key}/steps/{step}/"
        return client.post(url, form_fields(client.get(url)) | values | {"go": go})

    def build(self) -> CompetitionDraft:
        """Have the competition made; returns the draft as it is then."""
        self.client.post(f"/host/{self.draft.key}/trial/build/")
        run_background(at=self.site.now)
        self.draft.refresh_from_db()
        return self.draft

    def score_trial(self, **scores: float) -> Run:
        """Have a worker score what was sent in on trial."""
        return self.answer_trial({"outcome": "finished", "scores": scores}, columns=sorted(scores))

    def answer_trial(self, body: dict[str, Any], *, columns: list[str]) -> Run:
        """Have a worker answer with this body of `complete`."""
        competition = self.draft.competition
        assert competition is not None, self.draft.build_faults
        worker = ComputeWorker.objects.create(
            queue=competition.queue,
            name="w",
            instance="i",
            version="1",
            registered_at=self.site.now,
            last_seen_at=self.site.now,
        )
        run = dispatch.run_claim(worker=worker, free_gpus=0, now=self.site.now)
        assert run is not None, "no trial was handed out"
        reports.run_complete(**lease(run), result=read_result(body, columns=columns), now=self.site.now)
        return run

    def finish(self, **about: Any) -> None:
        """The steps that every path ends with."""
        for step, values in (("about", {"title": "Prices"} | about), ("schedule", {}), ("pages", {})):
            answered = self.answer(step, **values)
            assert answered.status_code == 302, answered.content.decode()
