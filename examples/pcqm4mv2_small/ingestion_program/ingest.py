"""Runs a participant's program on the raw SMILES of one split. Standard library alone.

    ingest.py SUBMISSION INPUT_DATA OUTPUT

`INPUT_DATA` holds `smiles.csv` (one column `smiles`, rows in the official order) and `split.json` (the name of the
prediction file). The submission is called as

    python3 predict.py SMILES_CSV PREDICTIONS_NPZ

or, if it has a `metadata.yaml` with a line `command:`, by that command, in which `$program`, `$input` and `$output`
stand for the submission's folder and the two paths. Whatever it prints is its log. A line `progress: 120/400` is
also kept as `progress.json`. The run fails if the program fails or leaves no predictions behind: what cannot be run,
or wrote nothing that can be scored, is refused by `refusal.json` and exit status 65, so that the team reads why.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

PROGRESS = re.compile(r"^progress: (\d{1,12})/(\d{1,12})$")
COMMAND = re.compile(r"^command:[ \t]*(?P<command>\S.*)$", re.MULTILINE)

REFUSED = 65  # the exit status of a refusal, by docs/programs.md


class SubmissionError(Exception):
    """The submission cannot be run, or left something undone: a sentence for its author."""


class ProgramFailed(SubmissionError):
    """The program itself failed; its log says why."""


def read_command(submission: Path, smiles: Path, predictions: Path) -> list[str]:
    """The argument list that starts the submission; no shell is involved."""
    for name in ("metadata.yaml", "metadata"):
        if (submission / name).is_file():
            return declared_command(submission, (submission / name).read_text(), smiles, predictions)
    if not (submission / "predict.py").is_file():
        names = ", ".join(sorted(path.name for path in submission.iterdir())[:10]) or "nothing"
        raise SubmissionError(
            f"The zip has neither predict.py nor metadata.yaml at its top level; it has: {names}. "
            "Zip the files themselves, not the folder around them."
        )
    return [sys.executable, "predict.py", str(smiles), str(predictions)]


def declared_command(submission: Path, metadata: str, smiles: Path, predictions: Path) -> list[str]:
    """The command of a metadata file with its placeholders filled in."""
    match = COMMAND.search(metadata)
    if match is None:
        raise SubmissionError("metadata.yaml has no line of the form `command: python3 main.py $input $output`.")
    words = shlex.split(match["command"].strip().strip("\"'"))
    values = {"$program": str(submission), "$input": str(smiles), "$output": str(predictions)}
    for placeholder, value in values.items():
        words = [word.replace(placeholder, value) for word in words]
    return words


def keep_progress(line: str, path: Path) -> None:
    """Replace the progress file when the line is a progress report."""
    match = PROGRESS.match(line.strip())
    if match:
        fresh = path.with_suffix(".tmp")
        fresh.write_text(json.dumps({"done": int(match[1]), "total": int(match[2])}))
        fresh.replace(path)


def run(command: list[str], submission: Path, progress: Path) -> int:
    """Run the program in its own folder, and pass on each line; returns its exit code."""
    # Its own modules must be importable although its folder is read-only: no bytecode is written there.
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        program = subprocess.Popen(
            command,
            cwd=submission,
            env=environment,
            text=True,
            errors="replace",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
    except OSError as error:
        raise SubmissionError(f"The command {shlex.join(command)} cannot be started: {error.strerror}.") from error
    with program:
        assert program.stdout is not None  # because of PIPE above
        for line in program.stdout:
            sys.stdout.write(line)
            sys.stdout.flush()
            keep_progress(line, progress)
    return program.returncode


def check(predictions: Path) -> None:
    """Refuse the absence of a readable file; what is in it, the scorer checks."""
    if not predictions.is_file():
        raise SubmissionError(
            f"No predictions were written: the program ended without writing {predictions.name} to the path it was given."
        )
    if not zipfile.is_zipfile(predictions):
        raise SubmissionError(f"{predictions.name} is not an .npz file; write it with numpy.savez(path, y_pred=...).")


def main(argv: list[str]) -> int:
    """Exit status 0 when predictions are in place; else a sentence on stderr, and 1 or a refusal's 65."""
    submission, input_data, output = (Path(argument) for argument in argv)
    split = json.loads((input_data / "split.json").read_text())
    predictions = output / str(split["predictions"])
    try:
        command = read_command(submission, input_data / "smiles.csv", predictions)
        status = run(command, submission, output / "progress.json")
        if status:
            ended = f"by signal {-status}" if status < 0 else f"with exit code {status}"
            raise ProgramFailed(f"The program ended {ended}.")
        check(predictions)
    except SubmissionError as error:
        print(error, file=sys.stderr)
        if isinstance(error, ProgramFailed):
            return 1
        (output / "refusal.json").write_text(json.dumps({"code": "no_predictions", "message": str(error)}))
        return REFUSED
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
