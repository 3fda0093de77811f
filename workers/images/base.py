"""The Debian base image: pulled where a registry answers, otherwise made here from Debian packages."""

import shutil
import subprocess
import tempfile
from pathlib import Path

from workers.images.engine import ImageError, inspected, install_packages, run, say

BASE_IMAGE = "debian:bookworm-slim"
SUITE = "bookworm"
PULL_TIMEOUT_S = 90.0
# What the "slim" images leave out.
UNUSED_PATHS = ("/usr/share/doc/*", "/usr/share/man/*", "/usr/share/info/*", "/usr/share/locale/*")
# As in the "slim" images: no descriptions of packages in other languages, and nothing is synced while a layer is made.
QUICK = ('--aptopt=Acquire::Languages "none"', "--dpkgopt=force-unsafe-io")


def ensure_base(image: str = BASE_IMAGE) -> None:
    """Have `image` in the engine: as it is, pulled, or (for Debian's own) bootstrapped."""
    if inspected(image, "{{.Id}}") is not None:
        return
    say(f"pulling {image}")
    try:
        run("docker", "pull", "--quiet", "--", image, timeout_s=PULL_TIMEOUT_S)
    except ImageError as error:
        if image != BASE_IMAGE:
            raise
        say(f"{image} cannot be pulled ({str(error).splitlines()[-1]}); making it from Debian packages")
        bootstrap(image)


def bootstrap(image: str) -> None:
    """Make the base image with mmdebstrap, from the host's own package sources.

    Where those are of another release, from the tool's.
    """
    if shutil.which("mmdebstrap") is None:
        install_packages("mmdebstrap", "debian-archive-keyring")
    sources = host_sources(Path("/etc/apt"))
    with tempfile.TemporaryDirectory(prefix="podium-base-") as folder:
        archive = Path(folder) / "base.tar"
        excludes = [f"--dpkgopt=path-exclude={pattern}" for pattern in UNUSED_PATHS]
        listing = Path(folder) / "sources.list"
        listing.write_text("".join(f"{line}\n" for line in sources))
        given = [listing] if sources else []
        run("mmdebstrap", "--quiet", "--variant=minbase", *QUICK, *excludes, SUITE, archive, *given, timeout_s=900)
        with archive.open("rb") as stream:
            subprocess.run(
                ["docker", "import", "--change", 'CMD ["bash"]', "--", "-", image],
                stdin=stream,
                check=True,
                stdout=subprocess.DEVNULL,
            )
    say(f"{image} made")


def host_sources(apt: Path) -> list[str]:
    """One-line package sources of `SUITE` that the host itself uses; empty on a host of another release."""
    lines: list[str] = []
    for path in [apt / "sources.list", *sorted((apt / "sources.list.d").glob("*.list"))]:
        if path.is_file():
            lines += [line for line in path.read_text().splitlines() if _is_ours(line)]
    for path in sorted((apt / "sources.list.d").glob("*.sources")):
        for stanza in path.read_text().split("\n\n"):
            lines += _one_line_sources(stanza)
    return lines


def _is_ours(line: str) -> bool:
    words = line.split("]")[-1].split() if "[" in line else line.split()[1:]
    return line.startswith("deb ") and len(words) >= 3 and _is_wanted(words[1]) and "main" in words[2:]


def _is_wanted(suite: str) -> bool:
    return suite == SUITE or suite.startswith(f"{SUITE}-")


def _one_line_sources(stanza: str) -> list[str]:
    """Turn one deb822 stanza into the older one-line form."""
    pairs = (line.partition(":") for line in stanza.splitlines() if not line.startswith(("#", " ")))
    fields = {key.strip().lower(): value.strip() for key, _, value in pairs}
    if "deb" not in fields.get("types", "").split() or "main" not in fields.get("components", "").split():
        return []
    if fields.get("enabled", "yes").lower() == "no":
        return []
    signed = fields.get("signed-by", "")
    options = f"[signed-by={signed}] " if signed.startswith("/") else ""
    suites = [suite for suite in fields.get("suites", "").split() if _is_wanted(suite)]
    return [f"deb {options}{uri} {suite} main" for uri in fields.get("uris", "").split() for suite in suites]
