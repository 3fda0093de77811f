"""Questions that an organizer defines and people answer: what a question is, and the form that checks answers.

Used at registration (who takes part); answers are kept as a mapping from key to text, number or true.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db import models

MAX_ANSWER = 1000


class Question(models.Model):
    """One question. Abstract: the models that use it say whom it is put to."""

    class Kind(models.TextChoices):
        TEXT = "text", "Text"
        CHECKBOX = "checkbox", "Box to tick"
        SELECT = "select", "Choice"
        URL = "url", "Web address"
        NUMBER = "number", "Number"

    key = models.SlugField(max_length=36, help_text="Its name in the API and in exports, for instance affiliation.")
    title = models.CharField(max_length=200, help_text="What people read, for instance: Affiliation")
    help_text = models.CharField(max_length=300, blank=True)
    kind = models.CharField(max_length=10, choices=Kind, default=Kind.TEXT)
    choices = models.JSONField(
        default=list, blank=True, help_text='For a choice: its values, for instance ["academia", "industry"].'
    )
    is_required = models.BooleanField(default=True)
    index = models.PositiveSmallIntegerField(default=0)

    class Meta:
        abstract = True
        ordering = ["index", "pk"]

    def __str__(self) -> str:
        return self.title

    def clean(self) -> None:
        values = self.choices
        if not isinstance(values, list) or not all(isinstance(value, str) and value for value in values):
            raise ValidationError({"choices": 'Give a list of texts, for instance ["academia", "industry"].'})
        if self.kind == self.Kind.SELECT and len(set(values)) < 2:
            raise ValidationError({"choices": "A choice needs at least two different values."})
        if self.kind != self.Kind.SELECT and values:
            raise ValidationError({"choices": "Only a choice has values; leave them empty here."})

    def form_field(self) -> forms.Field:
        """The field of a form that checks an answer to this question."""
        shared: dict[str, Any] = {"label": self.title, "help_text": self.help_text, "required": self.is_required}
        if self.kind == self.Kind.CHECKBOX:
            return forms.BooleanField(**shared)  # required: it must be ticked
        if self.kind == self.Kind.SELECT:
            return forms.ChoiceField(choices=[("", "Choose"), *((one, one) for one in self.choices)], **shared)
        if self.kind == self.Kind.URL:
            return forms.URLField(assume_scheme="https", max_length=MAX_ANSWER, **shared)
        if self.kind == self.Kind.NUMBER:
            return forms.FloatField(**shared)
        return forms.CharField(max_length=MAX_ANSWER, **shared)


class AnswersForm(forms.Form):
    """A form with one field for each question, in their order; `data` maps keys to answers."""

    def __init__(self, questions: Iterable[Question], data: Mapping[str, Any] | None = None, **kwargs: Any) -> None:
        super().__init__(data, **kwargs)
        self.fields.update({question.key: question.form_field() for question in questions})

    def answers(self) -> dict[str, Any]:
        """The checked answers, without those that were left empty. The form must be valid."""
        return {key: value for key, value in self.cleaned_data.items() if value not in (None, "", False)}

    def faults(self) -> dict[str, list[str]]:
        """What is wrong, by key of the question."""
        return {key: [str(text) for text in texts] for key, texts in self.errors.items()}
