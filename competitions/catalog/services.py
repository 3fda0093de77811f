"""Changes to what an organizer defines that are more than saving a form."""

from datetime import datetime

from django.db import transaction
from django.db.models import Max

from competitions.catalog.models import Competition, RulesVersion


def current_rules(competition: Competition) -> RulesVersion | None:
    """The newest version of the rules, or None when there are none yet."""
    return competition.rules_versions.order_by("-number").first()


@transaction.atomic
def rules_publish(*, competition: Competition, text: str, now: datetime) -> RulesVersion:
    """Publish the text as the next version; the same text again is no new version."""
    Competition.objects.select_for_update().get(pk=competition.pk)
    newest = current_rules(competition)
    if newest is not None and newest.text == text:
        return newest
    highest = competition.rules_versions.aggregate(highest=Max("number"))["highest"] or 0
    return RulesVersion.objects.create(competition=competition, number=highest + 1, text=text, published_at=now)
