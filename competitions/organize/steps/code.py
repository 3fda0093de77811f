"""A competition in which code is run: what runs it, and the programs and data."""

from typing import Final

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError

from competitions.organize.steps.step import ZIPS, FileSlot, Step, StepForm
from workers.protocol.images import ImageNameInvalid, parse_image

GIB: Final = 1024**3
SAMPLE_ROLE: Final = "sample"


class ProgramForm(StepForm):
    docker_image = forms.CharField(
        label="Image",
        max_length=200,
        required=False,
        help_text="The image that the code runs in. Leave empty for the site's own, with the usual packages.",
    )
    minutes = forms.IntegerField(
        label="Minutes", min_value=1, max_value=7 * 24 * 60, initial=10, help_text="Then the code is stopped."
    )
    memory_gib = forms.IntegerField(label="Memory in GiB", min_value=1, max_value=1024, initial=4)
    cpus = forms.IntegerField(label="CPU cores", min_value=1, max_value=256, initial=1)
    gpus = forms.TypedChoiceField(label="GPU", coerce=int, choices=[(0, "none"), (1, "one")], initial=0)
    score = forms.RegexField(
        r"^[\w.@-]{1,36}\Z",
        label="Score",
        initial="accuracy",
        help_text="The key that the scoring program writes into scores.json.",
    )
    sorting = forms.ChoiceField(label="Better is", choices=[("desc", "higher"), ("asc", "lower")], initial="desc")

    def prepare(self) -> None:
        self.fields["docker_image"].widget.attrs["placeholder"] = settings.DEFAULT_IMAGE

    def clean_docker_image(self) -> str:
        name: str = self.cleaned_data["docker_image"].strip()
        try:
            return str(parse_image(name)) if name else ""
        except ImageNameInvalid as error:
            raise ValidationError(str(error)) from error


PROGRAM: Final = Step(
    "program",
    "Budget and image",
    "What may the code use?",
    ProgramForm,
    preview="organize/guided/previews/program.html",
    intro="Each submission runs in a container without a network, and is stopped at these limits.",
)
FILES: Final = Step(
    "files",
    "Programs and data",
    "What does the code get, and what scores it?",
    preview="organize/guided/previews/files.html",
    intro="Zips. Leave out what you do not have yet: the example, in which a model learns and predicts labels, stands in for it.",
    slots=(
        FileSlot("input_data", "Input data", "What the code reads. No answers in it.", ZIPS),
        FileSlot("reference_data", "Reference data", "The hidden answers. Only the scoring program sees them.", ZIPS),
        FileSlot("scoring_program", "Scoring program", "With metadata.yaml; it writes scores.json.", ZIPS),
        FileSlot("ingestion_program", "Ingestion program", "It calls the submitted code.", ZIPS),
        FileSlot(SAMPLE_ROLE, "A submission that works", "Scored before you publish; it stays as a baseline.", ZIPS),
    ),
)
