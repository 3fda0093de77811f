"""A team as its organizer may change it."""

from datetime import datetime
from typing import ClassVar

from django.core.exceptions import ValidationError

from competitions.organize.editing.change_form import CompetitionForm
from competitions.teams.models import Team
from competitions.teams.refusals import TeamNameInvalid, TeamNameTaken
from competitions.teams.services import team_save


class TeamForm(CompetitionForm):
    """A team's name, and whether it is a baseline."""

    class Meta:
        model = Team
        fields = ("name", "is_baseline")
        labels: ClassVar[dict[str, str]] = {"is_baseline": "Baseline"}
        help_texts: ClassVar[dict[str, str]] = {"name": "Boards and the team's own pages show it from then on."}

    def write(self, now: datetime) -> Team:
        team: Team = self.instance
        try:
            team_save(team=team)
        except (TeamNameInvalid, TeamNameTaken) as refusal:
            raise ValidationError({"name": refusal.detail}) from refusal
        return team
