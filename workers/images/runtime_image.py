"""podium/runtime: Debian, Python, the scientific packages, and Podium's own `scoring` package."""

import hashlib
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

from workers.images.base import BASE_IMAGE, ensure_base
from workers.images.engine import REPOSITORY, ImageError, image_label, run, say

RUNTIME_IMAGE = "podium/runtime:1"
TORCH_IMAGE = "podium/runtime-torch:1"
DEPS_IMAGE = "podium/runtime-deps:1"
DIGEST_LABEL = "podium.context"
PYTHON_VERSION = "3.11"  # Debian bookworm's
RECIPE = Path(__file__).resolve().parent / "runtime"
REQUIREMENTS = RECIPE / "requirements.txt"
TORCH = RECIPE / "requirements-torch.txt"
GLIBC_MINORS = (17, 28, 34, 35, 36)  # wheels for any of these run on bookworm (glibc 2.36)


def ensure_runtime(image: str = RUNTIME_IMAGE) -> bool:
    """Build `image` unless the engine has it with the same content; True when something was built."""
    package = scoring_package()
    digest = context_digest([RECIPE / "Dockerfile", *recipe_of_deps()], package)
    if image_label(image, DIGEST_LABEL) == digest:
        return False
    ensure_deps()
    say(f"building {image}")
    with tempfile.TemporaryDirectory(prefix="podium-runtime-") as folder:
        context = Path(folder)
        shutil.copy(RECIPE / "Dockerfile", context / "Dockerfile")
        shutil.copytree(package, context / "scoring", ignore=shutil.ignore_patterns("__pycache__", "*.pyc"))
        docker_build(image, context, digest, {"DEPS": DEPS_IMAGE})
    say(f"{image} is ready")
    return True


def ensure_torch() -> bool:
    """Build the runtime image with PyTorch unless the engine has it; True when it was built."""
    ensure_runtime()
    runtime = image_label(RUNTIME_IMAGE, DIGEST_LABEL)
    digest = hashlib.sha256(f"{runtime}\0{context_digest([TORCH, RECIPE / 'torch.Dockerfile'])}".encode()).hexdigest()
    if image_label(TORCH_IMAGE, DIGEST_LABEL) == digest:
        return False
    with tempfile.TemporaryDirectory(prefix="podium-torch-") as folder:
        context = Path(folder)
        shutil.copy(RECIPE / "torch.Dockerfile", context / "Dockerfile")
        install_wheels(context / "site-packages", REQUIREMENTS, TORCH)
        say(f"building {TORCH_IMAGE}")
        docker_build(TORCH_IMAGE, context, digest, {"RUNTIME": RUNTIME_IMAGE})
    say(f"{TORCH_IMAGE} is ready")
    return True


def ensure_deps() -> None:
    """Build the layer with Python and the scientific packages, unless it is there with the same recipe."""
    digest = context_digest(recipe_of_deps())
    if image_label(DEPS_IMAGE, DIGEST_LABEL) == digest:
        return
    ensure_base()
    with tempfile.TemporaryDirectory(prefix="podium-deps-") as folder:
        context = Path(folder)
        shutil.copy(RECIPE / "deps.Dockerfile", context / "Dockerfile")
        install_wheels(context / "site-packages", REQUIREMENTS)
        say(f"building {DEPS_IMAGE}")
        docker_build(DEPS_IMAGE, context, digest, {"BASE": BASE_IMAGE})


def recipe_of_deps() -> list[Path]:
    """The files that decide what the slow layer holds."""
    return [RECIPE / "deps.Dockerfile", REQUIREMENTS]


def scoring_package() -> Path:
    """The `scoring` package that travels into the image: the repository's, or the installed one."""
    beside = REPOSITORY / "scoring"
    if not beside.is_dir():
        raise ImageError(f"the package `scoring` is not in {REPOSITORY}; run this from a checkout of Podium")
    return beside


def install_wheels(target: Path, *requirements: Path) -> None:
    """Install the image's Python packages into `target`, by the host's pip and its settings."""
    machine = platform.machine()
    files = [part for path in requirements for part in ("-r", path)]
    say(f"fetching the image's Python packages, those of {' and '.join(path.name for path in requirements)}")
    platforms = [f"--platform=manylinux_2_{minor}_{machine}" for minor in GLIBC_MINORS]
    platforms.append(f"--platform=manylinux2014_{machine}")
    run(
        sys.executable,
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-compile",
        "--target",
        target,
        "--only-binary=:all:",
        "--implementation=cp",
        f"--python-version={PYTHON_VERSION}",
        *platforms,
        *files,
        timeout_s=1200,
    )


def docker_build(image: str, context: Path, digest: str, build_args: dict[str, str]) -> None:
    """`docker build` on the host's network, so that the host's mirrors and proxies are reachable."""
    proxies = {name: value for name, value in os.environ.items() if name.lower() in ("http_proxy", "https_proxy")}
    arguments = [part for name in (*build_args, *proxies) for part in ("--build-arg", _argument(name, build_args))]
    run(
        "docker",
        "build",
        "--quiet",
        "--network=host",
        "--force-rm",
        "--tag",
        image,
        "--label",
        f"{DIGEST_LABEL}={digest}",
        *arguments,
        context,
        timeout_s=1800,
    )


def _argument(name: str, values: dict[str, str]) -> str:
    # A bare name makes docker read the value from the environment: proxies may carry a password.
    return f"{name}={values[name]}" if name in values else name


def context_digest(files: Iterable[Path], *folders: Path) -> str:
    """SHA-256 over names and contents, the same on every host; modification times do not count."""
    digest = hashlib.sha256()
    named = [(path.name, path) for path in files]
    for folder in folders:
        named += [(path.relative_to(folder.parent).as_posix(), path) for path in folder.rglob("*") if _counts(path)]
    for name, path in sorted(named):
        content = hashlib.sha256(path.read_bytes()).hexdigest()
        digest.update(f"{name}\0{content}\n".encode())
    return digest.hexdigest()


def _counts(path: Path) -> bool:
    return path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc"
