"""Scores by slice of a run, from the file that its scoring program left."""

from collections.abc import Sequence

from competitions.disclosure.outputs import SLICES
from competitions.disclosure.readers import Reader
from competitions.disclosure.slices import may_see_slices, slice_tables
from competitions.resources.storage import open_stored
from competitions.runs.models import Run, RunOutput
from competitions.submissions.models import Submission
from competitions.teams.models import Membership
from scoring.errors import ScoringInputError
from scoring.slices import MAX_BYTES, read


def slices_context(reader: Reader, submission: Submission, run: Run, outputs: Sequence[RunOutput]) -> dict[str, object]:
    """The tables that this reader may see; organizers also read what is wrong with the file.

    None of a smoke run, nor of a run on a dataset of another team, whose labels they would tell.
    """
    phase = submission.phase
    files = [output for output in outputs if output.name == SLICES and output.attempt == run.attempt]
    if not files or not run.scores or run.is_smoke or run.fills_board:
        return {}
    is_own = reader.once(("is_own", submission.team_id), lambda: _is_member(reader, submission))
    if not may_see_slices(reader, phase, is_own=is_own):
        return {}
    try:
        with open_stored(files[-1].file) as file:
            slices = read(file.read(MAX_BYTES + 1))
    except ScoringInputError as error:
        return {"slices_fault": str(error)} if reader.organizes(phase) else {}
    return {"slices": slice_tables(reader, phase, slices, is_own=is_own)}


def _is_member(reader: Reader, submission: Submission) -> bool:
    user = reader.user
    return user.is_authenticated and Membership.objects.filter(team=submission.team_id, user=user).exists()
