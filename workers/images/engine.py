"""The Docker command line, as far as building images needs it, with errors in the engine's own words."""

import os
import subprocess
import sys
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
ENGINE_SCRIPT = REPOSITORY / "workers" / "engine.sh"


class ImageError(Exception):
    """An image could not be made; the message says which step failed and what would help."""


def say(text: str) -> None:
    """Print one line of progress on stderr."""
    print(f"images: {text}", file=sys.stderr, flush=True)


def run(*argv: str | Path, timeout_s: float | None = None, env: dict[str, str] | None = None) -> str:
    """Run a command and return its standard output. Raises `ImageError` with its last lines."""
    try:
        done = subprocess.run(
            [str(part) for part in argv],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout_s,
            env={**os.environ, **(env or {})},
            check=False,
        )
    except FileNotFoundError as error:
        raise ImageError(f"{argv[0]} is not installed on this host") from error
    except subprocess.TimeoutExpired as error:
        raise ImageError(f"{argv[0]} {argv[1]} did not end within {timeout_s:g} s") from error
    if done.returncode:
        tail = "\n".join((done.stdout + done.stderr).strip().splitlines()[-15:])
        raise ImageError(f"{' '.join(map(str, argv[:3]))} ended with status {done.returncode}:\n{tail}")
    return done.stdout


def inspected(image: str, template: str) -> str | None:
    """A local image by this template; None when there is no such image."""
    try:
        return run("docker", "image", "inspect", "--format", template, "--", image).strip()
    except ImageError:
        return None


def image_label(image: str, label: str) -> str | None:
    """The label's value on a local image; None when there is no such image or no such label."""
    value = inspected(image, f'{{{{ index .Config.Labels "{label}" }}}}')
    return value if value and value != "<no value>" else None


def ensure_engine() -> None:
    """Make a Docker Engine answer, installing one where needed."""
    if not ENGINE_SCRIPT.exists():  # installed as a package: the engine is the administrator's
        run("docker", "version")
        return
    subprocess.run(["bash", str(ENGINE_SCRIPT)], stdin=subprocess.DEVNULL, check=True)


def install_packages(*names: str) -> None:
    """Install Debian packages of the host."""
    say(f"installing {' '.join(names)}")
    run("bash", ENGINE_SCRIPT, "--install", *names, timeout_s=600)
