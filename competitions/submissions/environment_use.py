"""Weights and images that submissions still need."""

from typing import Any

from django.db.models import Q

from competitions.environments.models import EnvironmentFile
from competitions.environments.refusals import FILE_IN_USE
from competitions.submissions.models import Submission
from competitions.submissions.states import LIVE


def refuse_in_use(sender: type[EnvironmentFile], file: EnvironmentFile, **kwargs: Any) -> None:
    """Receiver of `environment_file_removing`: refuse while a submission with the file has not ended.

    Raises `FILE_IN_USE`.
    """
    named = Submission.objects.filter(Q(weights=file) | Q(image=file), status__in=LIVE)
    number = named.order_by("pk").values_list("pk", flat=True).first()
    if number is not None:
        raise FILE_IN_USE(file=file, submission=number)
