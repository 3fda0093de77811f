"""Organizers' mail to people of their competition: recipients, daily limits, and the outbox."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django import forms
from django.conf import settings
from django.core.mail import EmailMessage, get_connection
from django.db import transaction
from django.db.models import QuerySet
from django.http import QueryDict

from accounts.models import User
from competitions.catalog.models import Competition, Phase
from competitions.organize.models import OrganizersMail
from competitions.organize.refusals import NOBODY_TO_MAIL, TOO_MANY_MAILS
from competitions.submissions.models import Submission
from competitions.teams.models import Registration, Team
from competitions.web.forms import offer
from core.background import jobs
from core.background.rows import claim
from files.text import is_number

MAIL_JOB: Final = "organizers_mail"
MAILS_A_DAY: Final = 3  # of one competition
DAY: Final = timedelta(days=1)
MOST_TEAMS: Final = 200  # that are offered to choose from
Audience = OrganizersMail.Audience


class MailForm(forms.Form):
    """A mail and whom it is for."""

    audience = forms.ChoiceField(label="To", choices=Audience.choices, initial=Audience.ALL, widget=forms.RadioSelect)
    phase = forms.ModelChoiceField(
        Phase.objects.none(),
        empty_label="Choose a phase",
        error_messages={"required": "Choose the phase whose teams you mean."},
    )
    teams = forms.ModelMultipleChoiceField(
        Team.objects.none(),
        help_text="Hold Ctrl or Cmd to choose several. If there are many, tick them in the list of teams and choose “Write a mail”.",
        error_messages={"required": "Choose at least one team."},
    )
    subject = forms.CharField(max_length=200)
    body = forms.CharField(
        label="Text",
        max_length=20_000,
        widget=forms.Textarea(attrs={"rows": 12}),
        help_text="Plain text. A line below it says why people get it, with a link to the competition.",
    )

    def __init__(self, competition: Competition, data: QueryDict | None, chosen: Sequence[str] = ()) -> None:
        """`chosen` are teams' numbers to begin with, which are offered whatever others there are."""
        initial = {"audience": Audience.TEAMS, "teams": chosen} if chosen else {}
        super().__init__(data, initial=initial, use_required_attribute=False)  # what is asked for follows the audience
        chosen = data.getlist("teams") if data is not None else chosen
        teams = Team.objects.filter(competition=competition, merged_into=None, memberships__isnull=False).distinct()
        phase = offer(self, "phase", competition.phases.all())
        offered = list(teams.order_by("name").values_list("pk", flat=True)[:MOST_TEAMS])
        offered += [int(number) for number in chosen if is_number(number)]
        offer(self, "teams", teams.filter(pk__in=offered).order_by("name"))
        if data is not None:
            phase.required = data.get("audience") == Audience.PHASE
            self.fields["teams"].required = data.get("audience") == Audience.TEAMS


def recipients(competition: Competition, audience: str, phase: Phase | None, teams: QuerySet[Team]) -> QuerySet[User]:
    """People with an approved registration, or only members of the teams; no service accounts."""
    approved = Registration.objects.filter(competition=competition, state=Registration.State.APPROVED)
    people = User.objects.filter(is_active=True, is_robot=False, pk__in=approved.values("user")).exclude(email="")
    if audience == Audience.PHASE:
        sent = Submission.objects.filter(phase=phase).values("team")
        people = people.filter(memberships__competition=competition, memberships__team__in=sent)
    elif audience == Audience.TEAMS:
        people = people.filter(memberships__competition=competition, memberships__team__in=teams.values("pk"))
    return people.order_by("pk")


def mail_recipients(mail: OrganizersMail) -> QuerySet[User]:
    return recipients(mail.competition, mail.audience, mail.phase, mail.teams.all())


@transaction.atomic
def mail_send(
    *, competition: Competition, author: User, key: UUID, values: dict[str, Any], now: datetime
) -> OrganizersMail:
    """Have a mail sent, once for a `key`. Raises `NOBODY_TO_MAIL` or `TOO_MANY_MAILS`."""
    locked = Competition.objects.select_for_update(no_key=True).get(
        pk=competition.pk
    )  # one competition's mails take turns
    if (earlier := OrganizersMail.objects.filter(key=key, competition=locked).first()) is not None:
        return earlier
    _require_room(locked, now)
    chosen, phase = values.pop("teams"), values.pop("phase")
    is_phase = values["audience"] == Audience.PHASE
    mail = OrganizersMail.objects.create(
        key=key, competition=locked, author=author, phase=phase if is_phase else None, created_at=now, **values
    )
    if mail.audience == Audience.TEAMS:
        mail.teams.set(chosen)
    if not mail_recipients(mail).exists():
        raise NOBODY_TO_MAIL()
    jobs.send_after_commit(MAIL_JOB, mail.pk)
    return mail


def _require_room(competition: Competition, now: datetime) -> None:
    recent = OrganizersMail.objects.filter(competition=competition, created_at__gt=now - DAY).order_by("-created_at")
    latest = list(recent.values_list("created_at", flat=True)[:MAILS_A_DAY])
    if len(latest) == MAILS_A_DAY:
        raise TOO_MANY_MAILS(limit=MAILS_A_DAY, next_at=latest[-1] + DAY)


def waiting_mails() -> QuerySet[OrganizersMail]:
    """Mails that are not in the outbox yet."""
    return OrganizersMail.objects.filter(sent_to=None)


def mail_write(pk: int) -> None:
    """Put one mail for each person into the outbox: all of them or none, so that nobody gets it twice."""
    if claim(waiting_mails(), pk) is None:
        return
    with transaction.atomic():
        mail = (
            waiting_mails().select_for_update(of=("self",)).select_related("competition", "phase").filter(pk=pk).first()
        )
        if mail is None:
            return
        messages = [_message(mail, person) for person in mail_recipients(mail)]
        get_connection().send_messages(messages)
        mail.sent_to = len(messages)
        mail.save(update_fields=["sent_to"])


def _message(mail: OrganizersMail, person: User) -> EmailMessage:
    competition = mail.competition
    why = f"You get this mail from the organizers of “{competition}” because you are registered for it."
    body = f"{mail.body}\n\n-- \n{why}\n{settings.SITE_URL}/competitions/{competition.slug}/\n"
    subject = " ".join(f"[{competition}] {mail.subject}".split())
    reply_to = [competition.contact_email] if competition.contact_email else None
    return EmailMessage(subject, body, None, [person.email], reply_to=reply_to)


ORGANIZERS_MAIL: Final = jobs.Job(MAIL_JOB, waiting=waiting_mails, perform=mail_write)
