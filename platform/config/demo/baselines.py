"""Sending the baselines in through the REST API, as any client does, and following them to their end."""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict

import requests

from config.demo.seed import Seed
from examples.baselines import Baseline

POLL_S = 2.0
READ_S = 120  # a loaded machine answers late
SEND_S = 300
FINAL = ("finished", "failed", "cancelled")


class Verdict(TypedDict):
    """The reason and the words of a submission that failed."""

    reason: str
    detail: str


class SubmissionAnswer(TypedDict):
    """The API's answer about a submission, as far as the demo reads it."""

    id: int
    competition: str
    team: str
    status: str
    verdict: Verdict | None
    scores: dict[str, str]


class Unexpected(Exception):
    """A baseline came to another end than it must."""


@dataclass
class Sent:
    """One submission on its way: whose it is, and what must come of it."""

    baseline: Baseline
    token: str
    pk: int
    answer: SubmissionAnswer

    @property
    def label(self) -> str:
        where = f"{self.answer['competition']} {self.baseline.phase}"
        return f"#{self.pk} {self.baseline.title} ({self.answer['team']}, {where})"

    def fault(self, score: float | None) -> str | None:
        """The difference from the expected outcome, or None. `score` is the primary value, if visible."""
        verdict = self.answer["verdict"]
        reason = verdict["reason"] if verdict else None
        if (self.answer["status"], reason) != (self.baseline.outcome, self.baseline.reason):
            return f"{self.label} ended as {describe(self.answer)}; expected {self.baseline.outcome}"
        expected = self.baseline.score_range
        if expected and score is not None and not expected[0] <= score <= expected[1]:
            metric = self.baseline.metric
            return f"{self.label} has {metric} {score}, expected {expected[0]:.4f} to {expected[1]:.4f}"
        return None


class Client:
    """The few calls of the API that the demo makes."""

    def __init__(self, url: str) -> None:
        self.api = f"{url}/api/v1"
        self.http = requests.Session()

    def get(self, path: str, token: str) -> Any:
        return self._answered("GET", path, token, timeout=READ_S).json()

    def submit(
        self,
        *,
        token: str,
        phase: int,
        kind: str,
        file: Path,
        description: str,
        key: str,
        facts: Mapping[str, str | bool],
    ) -> Any:
        with file.open("rb") as content:
            return self._answered(
                "POST",
                "/submissions/",
                token,
                headers={"Idempotency-Key": key},
                data={"phase": phase, "kind": kind, "description": description, "fact_sheet": json.dumps(facts)},
                files={"file": (file.name, content)},
                timeout=SEND_S,
            ).json()

    def _answered(
        self, method: str, path: str, token: str, *, headers: Mapping[str, str] | None = None, **body: Any
    ) -> Any:
        """The site's answer. Raises `Unexpected` for a refusal, and where none comes in time."""
        signed = {"Authorization": f"Bearer {token}", **(headers or {})}
        try:
            answer = self.http.request(method, f"{self.api}{path}", headers=signed, **body)
        except requests.RequestException as error:
            raise Unexpected(f"The site gave no answer to {method} {path}: {error}") from error
        if not answer.ok:
            raise Unexpected(f"The site refused {method} {path}: {answer.text[:500]}")
        return answer


def who_sends(baselines: list[Baseline], *, is_check: bool) -> list[tuple[str, Baseline]]:
    """The service account sends every baseline; teams try some, so that the board of a demo shows more."""
    plan = [("robot", baseline) for baseline in baselines]
    return plan + [(role, baseline) for baseline in baselines for role in baseline.also_by if not is_check]


def send_all(client: Client, seed: Seed, *, is_check: bool) -> list[Sent]:
    """Send everything in; the idempotency keys make a second start find the first one's submissions."""
    token = seed.account_token("robot")
    phases = {
        (slug, phase["slug"]): phase["id"]
        for slug in seed.slugs
        for phase in client.get(f"/competitions/{slug}/", token)["phases"]
    }
    sent = []
    for role, baseline in who_sends(seed.baselines, is_check=is_check):
        token = seed.account_token(role)
        answer = client.submit(
            token=token,
            phase=phases[baseline.competition, baseline.phase],
            kind=baseline.kind,
            description=baseline.title,
            file=seed.baseline_dir / baseline.competition / baseline.filename,
            key=f"demo-{role}-{baseline.name}",
            facts=baseline.facts,
        )
        sent.append(Sent(baseline, token, answer["id"], answer))
    return sent


def follow(
    client: Client, sent: list[Sent], *, timeout_s: float, say: Callable[[str], None], check: Callable[[], None]
) -> None:
    """Wait until every submission has ended, saying each change. Raises `Unexpected` after `timeout_s`."""
    deadline = time.monotonic() + timeout_s
    shown: dict[int, str] = {}
    while True:
        for submission in sent:
            if shown.get(submission.pk) not in FINAL:
                submission.answer = client.get(f"/submissions/{submission.pk}/", submission.token)
            if shown.get(submission.pk) != submission.answer["status"]:
                shown[submission.pk] = submission.answer["status"]
                say(f"  {submission.label}: {describe(submission.answer)}")
        if all(status in FINAL for status in shown.values()):
            return
        check()
        if time.monotonic() > deadline:
            waiting = ", ".join(submission.label for submission in sent if shown[submission.pk] not in FINAL)
            raise Unexpected(f"Not scored within {timeout_s:.0f} s: {waiting}")
        time.sleep(POLL_S)


def describe(answer: SubmissionAnswer) -> str:
    """A submission's state in a few words."""
    if answer["verdict"]:
        return f"{answer['status']}: {answer['verdict']['detail'] or answer['verdict']['reason']}"
    if answer["scores"]:
        return f"{answer['status']}, " + ", ".join(f"{key} {value}" for key, value in answer["scores"].items())
    return f"{answer['status']}, score sealed" if answer["status"] == "finished" else str(answer["status"])


def _score(submission: Sent) -> float | None:
    """The primary value, without the standard deviation that a board may show behind it."""
    scores = submission.answer["scores"]
    return float(scores[submission.baseline.metric].partition(" ± ")[0]) if scores else None


def require_as_expected(sent: list[Sent]) -> None:
    """Raise `Unexpected` naming every submission that ended otherwise than the baselines' authors say."""
    faults = [fault for submission in sent if (fault := submission.fault(_score(submission)))]
    if faults:
        raise Unexpected("Not as expected:\n" + "\n".join(faults))


def ended_wrongly(client: Client, sent: list[Sent]) -> list[Sent]:
    """Submissions of an earlier start that have ended otherwise than expected."""
    for submission in sent:
        submission.answer = client.get(f"/submissions/{submission.pk}/", submission.token)
    ended = [submission for submission in sent if submission.answer["status"] in FINAL]
    return [submission for submission in ended if submission.fault(_score(submission))]
