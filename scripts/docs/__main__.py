"""`python -m scripts.docs`: build the docs as a site, in var/docs.

`--is-current` builds nothing, and ends with 0 if the docs there are of today's sources. `--export FOLDER` copies them to a folder.
Both need the standard library alone.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(REPOSITORY), str(REPOSITORY / "platform"), str(REPOSITORY / "client")]

from scripts.docs.build import build, export, is_current, sources_digest  # noqa: E402
from scripts.docs.sources import DocsInvalid  # noqa: E402


def main() -> int:
    """0 once the docs are there; 1 with all that is wrong in them."""
    parser = argparse.ArgumentParser(prog="python -m scripts.docs", description="Build the docs as a site.")
    parser.add_argument("--is-current", action="store_true", help="build nothing; end with 0 if nothing is to be built")
    parser.add_argument("--export", type=Path, metavar="FOLDER", help="copy what was built to this folder")
    chosen = parser.parse_args()
    if chosen.is_current:
        return int(not is_current(sources_digest()))
    if chosen.export:
        export(chosen.export)
        return 0
    try:
        return _build()
    except DocsInvalid as error:
        print(f"{error}\ndocs: not built; what is wrong stands above", file=sys.stderr)
        return 1


def _build() -> int:
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as data:
        # The code is read as that of an embedded site without data: no database and no service is asked.
        for name in [name for name in os.environ if name.startswith(("PODIUM_", "DATABASE_URL"))]:
            del os.environ[name]
        os.environ |= {"PODIUM_DATA_DIR": data, "DJANGO_SETTINGS_MODULE": "config.settings"}
        is_new = build()
    print(f"docs: built in {time.monotonic() - started:.0f} s" if is_new else "docs: up to date")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
