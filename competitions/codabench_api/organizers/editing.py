"""Competitions made and changed by Codabench's editor, within a program's rights."""

import base64
import binascii
import io
import zipfile
from collections.abc import Mapping
from typing import Any, Final

import yaml
from django.core.exceptions import ValidationError
from django.db import transaction
from django.urls import reverse
from django.utils import timezone
from rest_framework.response import Response

from accounts.models import User
from competitions.bundles.imports import import_begin
from competitions.bundles.models import BundleImport
from competitions.catalog.changes.competitions import change_competition
from competitions.catalog.models import Competition, Format, Page
from competitions.catalog.organizers import require_host
from competitions.catalog.services import current_rules, rules_publish, same_text
from competitions.catalog.texts.pages import list_own_tabs
from competitions.codabench_api.base import BadForm, RobotView
from competitions.codabench_api.shapes import COMPETITION_FLAGS, competition_shape
from competitions.codabench_api.uploads import import_answer
from competitions.compute.models import Queue
from competitions.resources.uploads import upload_whole
from core.refusals import RefusalKind
from files.bundles.archive import ZIP_TIME
from files.bundles.faults import YAML_NAME
from files.bundles.schema import CompetitionSpec, PhaseSpec

TEXTS: Final = {
    "title": "title",
    "description": "subtitle",
    "docker_image": "docker_image",
    "competition_type": "competition_type",
    "reward": "reward",
    "contact_email": "contact_email",
}
# `confirmed` answers a question, and is not a field.
CHANGEABLE: Final = frozenset({*COMPETITION_FLAGS, *TEXTS, "registration_auto_approve", "terms", "pages"})

NOT_DELETED: Final = RefusalKind(
    409,
    "not_deleted",
    "Competitions are not deleted by a program. Unpublish it (POST toggle_publish), then delete it under Settings in the workspace, "
    "as long as nobody has submitted.",
)


def competition_make(view: RobotView) -> Response:
    """Make a draft of the editor's form: 201 with the competition, or 202 with an address to poll."""
    user = view.person()
    require_host(user)
    form, now = view.form, timezone.now()
    content = bundle_from_form(form)
    sent = upload_whole(
        user=user, file_name="competition.zip", size_bytes=len(content), chunks=iter([content]), now=now
    )
    assert sent.file is not None, "it came in one piece"
    queue = _queue(view, form.get("queue"))
    job = import_begin(owner=user, stored=sent.file, file_name=sent.file_name, queue=queue, now=now)

    def shape(over: BundleImport) -> dict[str, object] | None:
        competition = competition_shape(over.competition, user) if over.competition is not None else None
        return competition and competition | {"ignored": _ignored(form)}

    return import_answer(job, shape)


def _queue(view: RobotView, value: Any) -> Queue | None:
    number = value.get("id") if isinstance(value, Mapping) else value
    if number in (None, ""):
        return None
    queue = Queue.objects.usable_by(view.person()).filter(pk=number).first() if str(number).isdecimal() else None
    if queue is None:
        raise BadForm(f"There is no queue {str(number)[:40]!r} that you may use; GET /api/queues/ lists them.")
    return queue


def bundle_from_form(form: Mapping[str, object]) -> bytes:
    """The bundle that says what the editor sent. Raises `BadForm` for parts that are no lists of objects."""
    files: dict[str, bytes] = {"terms.md": str(form.get("terms") or "").encode()}
    named = {name: form[name] for name in CompetitionSpec.model_fields if form.get(name) not in (None, "")}
    spec = {key: value for key, value in named.items() if key not in ("where", "queue", "image", "podium")}
    phases = _objects(form, "phases")
    keys = list(dict.fromkeys(key for phase in phases for key in _task_keys(phase)))
    pages = _objects(form, "pages")
    files |= {f"page-{number}.md": str(page.get("content") or "").encode() for number, page in enumerate(pages)}
    spec |= {
        "version": 2,
        "terms": "terms.md",
        "pages": [{"title": str(page.get("title")), "file": f"page-{number}.md"} for number, page in enumerate(pages)],
        "tasks": [{"index": number, "key": key} for number, key in enumerate(keys)],
        "phases": [_phase(number, phase, keys) for number, phase in enumerate(phases)],
        "leaderboards": _objects(form, "leaderboards"),
    }
    if (logo := _image(form.get("image"))) is not None:
        spec["image"], files["logo.png"] = "logo.png", logo
    files[YAML_NAME] = yaml.safe_dump(spec, allow_unicode=True, sort_keys=False).encode()
    return _packed(files)


def _ignored(form: Mapping[str, object]) -> list[str]:
    """Names of values that were sent and have no meaning here; empty values are no matter."""
    whole = [name for name, value in form.items() if value and name not in CompetitionSpec.model_fields]
    phases = [
        f"phases.{number}.{name}"
        for number, phase in enumerate(_objects(form, "phases"))
        for name, value in phase.items()
        if value and name not in (*PhaseSpec.model_fields, "max_submissions_per_person")
    ]
    return [*whole, *phases]


def _objects(form: Mapping[str, object], name: str) -> list[Mapping[str, object]]:
    given = form.get(name) or []
    if not isinstance(given, list) or not all(isinstance(item, Mapping) for item in given):
        raise BadForm(f"`{name}` must be a list of objects. Send the competition as JSON.")
    return given


def _task_keys(phase: Mapping[str, object]) -> list[str]:
    """Keys of a phase's tasks, which are sent as texts or as objects."""
    tasks = phase.get("tasks") or []
    if not isinstance(tasks, list):
        raise BadForm("`tasks` of a phase must be a list of the keys of tasks; GET /api/tasks/ lists them.")
    return [str(task.get("key") if isinstance(task, Mapping) else task) for task in tasks]


def _phase(number: int, phase: Mapping[str, object], keys: list[str]) -> dict[str, object]:
    spec = {name: phase[name] for name in PhaseSpec.model_fields if phase.get(name) is not None}
    if "max_submissions_per_person" in phase:
        spec["max_submissions"] = phase["max_submissions_per_person"] or 0
    return spec | {"index": number, "tasks": [keys.index(key) for key in _task_keys(phase)]}


def _image(given: Any) -> bytes | None:
    """A logo as the editor sends it: base64, alone or in an object with the file's name."""
    text = given.get("data") if isinstance(given, Mapping) else given
    if not text:
        return None
    try:
        return base64.b64decode(str(text).rpartition("base64,")[2], validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadForm("`image` must be a PNG or JPEG as base64.") from error


def _packed(files: Mapping[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, ZIP_TIME), content)
    return packed.getvalue()


@transaction.atomic
def competition_change(competition: Competition, form: Mapping[str, object], by: User) -> None:
    """Change settings, pages and rules; unchanged values may be sent along.

    Raises `BadForm` for a value that is wrong or editable only in the workspace, and `NeedsConfirmation` for what
    concerns teams, until sent again with its `confirmation` as `confirmed`.
    """
    _refuse_others(competition, form, by)
    for name in COMPETITION_FLAGS:
        if name in form:
            setattr(competition, name, _truth(name, form[name]))
    for name, field in TEXTS.items():
        if name in form and (name != "docker_image" or form[name] != competition.image_name):  # shown, maybe the site's
            setattr(competition, field, str(form[name] or ""))
    if "registration_auto_approve" in form:
        is_open = _truth("registration_auto_approve", form["registration_auto_approve"])
        policy = Competition.RegistrationPolicy
        competition.registration_policy = policy.OPEN if is_open else policy.APPROVAL
    try:
        change_competition(competition, now=timezone.now(), confirmed=form.get("confirmed", ""))
    except ValidationError as error:
        raise BadForm(" ".join(f"{name}: {' '.join(texts)}" for name, texts in error.message_dict.items())) from error
    rules, terms = current_rules(competition), str(form.get("terms") or "")
    if terms and (rules is None or not same_text(rules.text, terms)):
        rules_publish(competition=competition, text=terms, now=timezone.now())
    if "pages" in form:
        _pages_replace(competition, _objects(form, "pages"))


def _refuse_others(competition: Competition, form: Mapping[str, object], by: User) -> None:
    left = [name for name in form if name not in CHANGEABLE and name != "confirmed"]
    if not left:
        return
    current = competition_shape(competition, by)
    others = [name for name in left if name not in current or form[name] != current[name]]
    if others:
        raise BadForm(
            f"{', '.join(sorted(others))[:200]}: changed in the workspace alone, which shows first what the change does to a running "
            f"competition: {reverse('organize:settings', args=[competition.slug])}."
        )


def _truth(name: str, value: Any) -> bool:
    word = str(value).lower()
    if word not in ("true", "false"):
        raise BadForm(f"`{name}` must be true or false, not {str(value)[:40]!r}.")
    return word == "true"


def _pages_replace(competition: Competition, pages: list[Mapping[str, object]]) -> None:
    """Pages keep their tab and format by title; one that is no longer sent goes."""
    before = {page.title: page for page in competition.pages.all()}
    competition.pages.all().delete()
    for index, sent in enumerate(pages):
        title = str(sent.get("title") or "")[:256]
        old = before.pop(title, None)  # a second one of this title is a page of its own
        Page.objects.create(
            competition=competition,
            title=title,
            body=str(sent.get("content") or ""),
            index=index,
            tab=old.tab if old else Page.Tab.OVERVIEW,
            slug=old.slug if old else "",
            format=old.format if old else Format.MIXED,
        )
    list_own_tabs(competition)
