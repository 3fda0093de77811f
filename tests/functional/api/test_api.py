"""The REST API as a client uses it: tokens, uploads, submissions, limits, boards, problems."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from rest_framework.throttling import SimpleRateThrottle

from accounts.models import ApiToken, Scope, token_create
from competitions.notifications.models import Kind as Told
from competitions.notifications.services import notify_person
from competitions.runs.models import RunLog
from competitions.submissions.models import Submission
from competitions.submissions.states import Reason
from tests.permissions import body_text
from tests.scenario import FILE_NAME, Scenario, person, prediction_bytes
from tests.tools import secret_token

ALL = list(Scope.values)


class Robot:
    """A client that knows a token and nothing else."""

    def __init__(self, site: Scenario, scopes: list[str] | None = None, *, days: float = 1) -> None:
        self.user = site.member()
        self.token, self.secret = token_create(
            user=self.user, name="robot", scopes=scopes or ALL, expires_at=site.now + timedelta(days=days)
        )
        self.client = Client()

    def call(self, method: str, url: str, data: Any = None, **headers: str) -> Any:
        kind = {"content_type": "application/json"} if isinstance(data, dict | list) and "file" not in data else {}
        request = getattr(self.client, method)
        return request(url, data or {}, headers={"Authorization": f"Bearer {self.secret}", **headers}, **kind)

    def submit(self, site: Scenario, content: bytes | None = None, headers: dict[str, str] | None = None) -> Any:
        file = SimpleUploadedFile(FILE_NAME, content if content is not None else prediction_bytes())
        data = {"phase": site.phase.pk, "kind": "prediction", "file": file}
        return self.call("post", reverse("api:submissions"), data, **(headers or {}))


def problem(response: Any, status: int, code: str) -> dict[str, Any]:
    """The problem document of a refusal: always the same members, always a sentence."""
    assert response.status_code == status, response.content
    assert response["Content-Type"].startswith("application/problem+json")
    body: dict[str, Any] = response.json()
    assert body["code"] == code
    assert body["status"] == status
    assert len(body["detail"]) > 10
    return body


def test_a_robot_submits_with_a_token_alone_and_reads_the_score(site: Scenario) -> None:
    robot = Robot(site)
    response = robot.submit(site)
    assert response.status_code == 201
    body = response.json()
    assert (body["status"], body["scores"], body["verdict"]) == ("checking", None, None)
    site.score(Submission.objects.get(pk=body["id"]), 0.25)
    scored = robot.call("get", reverse("api:submission", args=[body["id"]])).json()
    assert (scored["status"], scored["scores"]) == ("finished", {"mae": "0.2500"})
    board = robot.call("get", reverse("api:leaderboard", args=[site.competition.slug, site.phase.slug])).json()
    assert [(row["rank"], row["team"], row["scores"]) for row in board["rows"]] == [
        (1, site.team.name, {"mae": "0.2500"})
    ]


def test_a_large_file_comes_in_parts(site: Scenario) -> None:
    robot, content = Robot(site), prediction_bytes()
    announced = robot.call("post", reverse("api:uploads"), {"file_name": FILE_NAME, "size_bytes": len(content)})
    url = announced["Location"]
    for offset in range(0, len(content), 100):
        part = robot.client.patch(
            url,
            content[offset : offset + 100],
            content_type="application/offset+octet-stream",
            headers={"Authorization": f"Bearer {robot.secret}", "Upload-Offset": str(offset)},
        )
        assert part.status_code == 200, part.content
    state = robot.call("get", url).json()
    assert (state["is_complete"], state["received_bytes"]) == (True, len(content))
    data = {"phase": site.phase.pk, "kind": "prediction", "upload": state["key"]}
    assert robot.call("post", reverse("api:submissions"), data).status_code == 201


def test_a_part_without_or_with_a_wrong_offset_is_refused(site: Scenario) -> None:
    robot = Robot(site)
    url = robot.call("post", reverse("api:uploads"), {"file_name": "a", "size_bytes": 10})["Location"]
    for offset, status, code in [("", 400, "offset_missing"), ("5", 409, "wrong_offset")]:
        headers = {"Authorization": f"Bearer {robot.secret}", "Upload-Offset": offset}
        part = robot.client.patch(url, b"x", content_type="application/offset+octet-stream", headers=headers)
        problem(part, status, code)


def test_the_same_key_gives_the_same_submission_and_another_file_with_it_is_refused(site: Scenario) -> None:
    robot = Robot(site)
    first = robot.submit(site, headers={"Idempotency-Key": "k1"}).json()["id"]
    assert robot.submit(site, headers={"Idempotency-Key": "k1"}).json()["id"] == first
    problem(
        robot.submit(site, prediction_bytes(value=3.0), headers={"Idempotency-Key": "k1"}),
        422,
        "idempotency_key_reused",
    )


@pytest.mark.parametrize(
    ("scopes", "method", "name", "status"),
    [
        ([Scope.READ], "get", "api:submissions", 200),
        ([Scope.READ], "post", "api:uploads", 403),
        ([Scope.SUBMIT], "get", "api:submissions", 403),
        ([Scope.SUBMIT], "post", "api:uploads", 201),
        ([Scope.TEAM], "post", "api:uploads", 403),
        ([Scope.ORGANIZE], "post", "api:uploads", 201),
        ([Scope.READ, Scope.SUBMIT], "get", "api:bundles", 403),
        ([Scope.ORGANIZE], "get", "api:bundles", 200),
    ],
)
def test_a_token_does_what_its_scopes_say_and_nothing_else(
    site: Scenario, scopes: list[str], method: str, name: str, status: int
) -> None:
    data = {"file_name": "a.zip", "size_bytes": 5} if method == "post" else None
    answer = Robot(site, scopes).call(method, reverse(name), data)
    assert answer.status_code == status
    if status == 403:
        problem(answer, 403, "scope_missing")


@pytest.mark.parametrize("scope", [Scope.SUBMIT, Scope.ORGANIZE])
def test_who_may_send_a_file_may_ask_how_far_it_has_come(site: Scenario, scope: Scope) -> None:
    robot = Robot(site, [scope])
    url = robot.call("post", reverse("api:uploads"), {"file_name": "a", "size_bytes": 10})["Location"]
    assert robot.call("get", url).json()["received_bytes"] == 0
    problem(Robot(site, [Scope.TEAM]).call("get", url), 403, "scope_missing")


@pytest.mark.parametrize("scope", list(Scope))
def test_any_token_may_ask_whose_it_is_and_what_it_may_do(site: Scenario, scope: Scope) -> None:
    robot = Robot(site, [scope])
    answer = robot.call("get", reverse("api:me")).json()
    assert answer["username"] == robot.token.user.username
    assert answer["is_service_account"] == robot.token.user.is_robot
    assert (answer["token"]["name"], answer["token"]["scopes"]) == (robot.token.name, [scope])
    assert robot.secret not in str(answer)


def test_a_missing_scope_is_named(site: Scenario) -> None:
    answer = Robot(site, [Scope.TEAM, Scope.READ]).call(
        "post", reverse("api:uploads"), {"file_name": "a", "size_bytes": 1}
    )
    assert "the scope `submit` or `organize`, and this one has `team` and `read`" in answer.json()["detail"]


def test_expired_revoked_and_unknown_tokens_say_so(site: Scenario) -> None:
    url = reverse("api:submissions")
    old = Robot(site, days=-1)
    problem(old.call("get", url), 401, "token_over")
    revoked = Robot(site)
    ApiToken.objects.filter(pk=revoked.token.pk).update(revoked_at=site.now)
    problem(revoked.call("get", url), 401, "token_over")
    revoked.secret = "podium_" + "x" * 43
    problem(revoked.call("get", url), 401, "unknown_token")


def test_a_token_is_kept_as_a_digest_alone(site: Scenario) -> None:
    robot = Robot(site)
    stored = ApiToken.objects.values().get(pk=robot.token.pk)
    assert robot.secret not in str(stored)


def test_refusals_carry_what_a_program_needs(site: Scenario) -> None:
    robot = Robot(site)
    site.phase.max_submissions_per_day = 1
    site.phase.save()
    assert robot.submit(site).status_code == 201
    body = problem(robot.submit(site), 429, "quota_used")
    assert (body["limit"], body["resets_at"]) == (1, "2030-05-02T00:00:00+00:00")
    limits = robot.call("get", reverse("api:limits", args=[site.competition.slug, site.phase.slug])).json()
    assert limits[0] == {"period": "for today", "limit": 1, "used": 1, "left": 0, "resets_at": "2030-05-02T00:00:00Z"}


def test_a_wrong_or_empty_file_is_refused_by_name(site: Scenario) -> None:
    robot = Robot(site)
    problem(robot.submit(site, b"not an npz"), 422, "not_a_zip")
    problem(robot.submit(site, b""), 422, "empty_upload")
    assert not Submission.objects.exists()


def test_bad_requests_name_the_field(site: Scenario) -> None:
    robot = Robot(site)
    body = problem(robot.call("post", reverse("api:submissions"), {"phase": "x", "kind": "poem"}), 400, "invalid")
    assert set(body["fields"]) == {"phase", "kind"}
    problem(robot.call("get", "/api/v1/submissions/999999/"), 404, "not_found")
    problem(robot.call("delete", reverse("api:submissions")), 405, "method_not_allowed")


def test_a_failed_submission_says_whose_fault_it_is_and_what_to_do(site: Scenario) -> None:
    robot = Robot(site)
    submission = Submission.objects.get(pk=robot.submit(site).json()["id"])
    site.answer(submission, {"outcome": "failed", "reason": Reason.INFRASTRUCTURE, "detail": "The disk is full."})
    for hours in (1, 2):
        run = site.claim(at=site.now + timedelta(hours=hours))
        from competitions.runs.leases import reports
        from tests.answers import read_result
        from tests.scenario import lease

        body = {"outcome": "failed", "reason": Reason.INFRASTRUCTURE, "detail": "The disk is full."}
        reports.run_complete(**lease(run), result=read_result(body, columns=["mae"]), now=site.now)
    verdict = robot.call("get", reverse("api:submission", args=[submission.pk])).json()["verdict"]
    assert (verdict["reason"], verdict["blame"]) == ("infrastructure", "platform")
    assert "our fault" in verdict["advice"]


def walk(robot: Robot, url: str, towards: str) -> dict[str, list[int]]:
    """The numbers on each page by its address, from this one on, as far as links lead in this direction."""
    pages: dict[str, list[int]] = {}
    following: str | None = url
    while following:
        page = robot.call("get", following).json()
        pages[following] = [row["id"] for row in page["results"]]
        following = page[towards]
    return pages


def test_pages_of_submissions_follow_a_cursor_without_loss(site: Scenario) -> None:
    robot = Robot(site)
    site.phase.max_submissions_per_day = None
    site.phase.save()
    numbers = sorted((site.submit().pk for _ in range(7)), reverse=True)
    site.submit(team=site.join("Other"))
    phase, competition = f"&phase={site.phase.pk}", f"&competition={site.competition.slug}"
    for narrowed in ("", "&status=queued", phase, f"{competition}&status=queued"):
        pages = walk(robot, f"{reverse('api:submissions')}?page_size=3{narrowed}", "next")
        assert list(pages.values()) == [numbers[:3], numbers[3:6], numbers[6:]], narrowed
        back = walk(robot, list(pages)[-1], "previous")
        assert list(back.values()) == [numbers[6:], numbers[3:6], numbers[:3]], narrowed


def test_organizers_and_administrators_list_what_they_may_see(site: Scenario) -> None:
    numbers = [site.submit().pk, site.submit(team=site.join("Other")).pk]
    administrator = person(is_staff=True, is_superuser=True)
    for user, seen in ((site.organizer, numbers), (administrator, numbers), (person(), [])):
        client = Client()
        client.force_login(user)
        assert [row["id"] for row in client.get(reverse("api:submissions")).json()["results"]] == seen[::-1]
    own = site.submit(team=site.join("Own", user=site.organizer))
    RunLog.objects.create(run=own.runs.get(), attempt=1, stream="scoring", seq=0, text="label of row 1 is 7")
    administrators = site.submit(team=site.join("Theirs", user=administrator))
    for user, sent in ((site.organizer, own), (administrator, administrators)):
        for scopes, seen in (([], [sent.pk]), ([Scope.ORGANIZE], [*numbers, own.pk, administrators.pk])):
            client = Client(headers={"Authorization": f"Bearer {secret_token(user, Scope.READ, *scopes)}"})
            assert [row["id"] for row in client.get(reverse("api:submissions")).json()["results"]] == seen[::-1]
            for name in ("submission", "submission-logs", "submission-receipt", "submission-download"):
                answer = client.get(reverse(f"api:{name}", args=[numbers[0]]))
                assert (answer.status_code, bool(body_text(answer))) == (200 if scopes else 404, True), name
            logs = client.get(reverse("api:submission-logs", args=[sent.pk])).json()
            assert ("scoring" in {log["stream"] for log in logs}) == bool(scopes), (
                "a member has no log that may quote labels"
            )


def test_cancelling_twice_is_a_conflict(site: Scenario) -> None:
    robot = Robot(site)
    pk = robot.submit(site).json()["id"]
    assert robot.call("post", reverse("api:submission-cancel", args=[pk])).json()["status"] == "cancelled"
    problem(robot.call("post", reverse("api:submission-cancel", args=[pk])), 409, "already_ended")


def test_the_file_comes_back_as_it_was_sent(site: Scenario) -> None:
    robot, content = Robot(site), prediction_bytes()
    pk = robot.submit(site, content).json()["id"]
    answer = robot.call("get", reverse("api:submission-download", args=[pk]))
    assert FILE_NAME in answer["Content-Disposition"]
    assert b"".join(answer.streaming_content) == content
    answer.close()


def test_an_unchanged_board_answers_304_and_a_changed_one_200(site: Scenario) -> None:
    robot = Robot(site)
    url = reverse("api:leaderboard", args=[site.competition.slug, site.phase.slug])
    etag = robot.call("get", url)["ETag"]
    assert robot.call("get", url, **{"If-None-Match": etag}).status_code == 304
    site.score(site.submit(), 0.5)
    assert robot.call("get", url, **{"If-None-Match": etag}).status_code == 200


def test_a_robot_registers_founds_a_team_and_invites(site: Scenario) -> None:
    from tests.scenario import person

    newcomer = person(is_robot=True)
    robot = Robot(site)
    robot.token.user = newcomer
    robot.token.save()
    slug = site.competition.slug
    problem(robot.call("get", reverse("api:registration", args=[slug])), 403, "not_registered")
    problem(
        robot.call("post", reverse("api:registration", args=[slug]), {"rules_version": 9}),
        409,
        "rules_version_not_current",
    )
    assert robot.call("post", reverse("api:registration", args=[slug]), {"rules_version": 1}).status_code == 201
    assert robot.call("get", reverse("api:team", args=[slug])).json()["name"] == newcomer.username
    response = robot.call("post", reverse("api:team", args=[slug]), {"name": "Robots"})
    assert response.json()["members"] == [newcomer.username]
    problem(
        robot.call("post", reverse("api:team-invitations", args=[slug]), {"person": "nobody"}), 404, "unknown_person"
    )
    assert robot.call("delete", reverse("api:team", args=[slug])).status_code == 204


def test_the_schema_describes_every_call(site: Scenario) -> None:
    schema = reverse("api:schema")
    text = body_text(Client().get(schema))
    for name in ("submissions_create", "uploads_append", "competitions_list"):
        assert name in text
    assert "/api/worker/" not in text
    as_json = Client().get(schema, {"format": "json"})
    assert "/api/v1/submissions/" in as_json.json()["paths"]
    assert as_json["Content-Type"] == "application/vnd.oai.openapi+json"


def test_the_inbox_is_read_and_marked_as_read(site: Scenario) -> None:
    robot = Robot(site)
    for text in ("First", "Second"):
        news: dict[str, Any] = {"subject": text, "text": text, "path": "/"}
        notify_person(user=robot.user, competition=site.competition, kind=Told.RUN, **news)
    url = reverse("api:notifications")
    rows = robot.call("get", url).json()["results"]
    assert [(row["subject"], row["is_read"]) for row in rows] == [("Second", False), ("First", False)]
    assert robot.call("post", reverse("api:notifications-read"), {"up_to": rows[1]["id"]}).status_code == 204
    unread = robot.call("get", f"{url}?unread=true").json()["results"]
    assert [row["subject"] for row in unread] == ["Second"]
    assert robot.call("get", f"{url}?unread=perhaps").status_code == 400


def test_visitors_and_accounts_are_each_counted_by_a_rate_of_their_own(
    site: Scenario, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.CACHES = settings.CACHES | {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
    monkeypatch.setattr(SimpleRateThrottle, "THROTTLE_RATES", {"anon": "3/hour", "user": "1/hour"})
    visitor, robot, url = Client(), Robot(site), reverse("api:competitions")
    assert [visitor.get(url).status_code for _ in range(4)] == [200, 200, 200, 429]
    assert [robot.call("get", url).status_code for _ in range(2)] == [200, 429]
