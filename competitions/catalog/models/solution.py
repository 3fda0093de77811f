"""Solutions of the organizers: what they know to work on their tasks, kept from everybody else."""

from django.db import models

from competitions.catalog.models.competition import Competition
from competitions.catalog.models.task import Task
from competitions.resources.models import Resource
from core.fields import SHORT_TEXT, LongTextField, OneLineField


class Solution(models.Model):
    """A file that the organizers submit to see their tasks work. Organizers alone read it."""

    competition = models.ForeignKey(Competition, on_delete=models.CASCADE, related_name="solutions")
    tasks = models.ManyToManyField(Task, related_name="solutions", help_text="What it is run on.")
    resource = models.ForeignKey(
        Resource, on_delete=models.PROTECT, related_name="+", limit_choices_to={"kind": Resource.Kind.SOLUTION}
    )
    name = OneLineField(max_length=200)
    description = LongTextField(max_length=SHORT_TEXT, blank=True)
    index = models.PositiveSmallIntegerField(default=0)

    class Meta:
        ordering = ["index", "pk"]
        constraints = [
            models.UniqueConstraint(fields=["competition", "name"], name="solution_name_once_per_competition")
        ]

    def __str__(self) -> str:
        return self.name
