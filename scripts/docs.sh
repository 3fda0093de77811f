#!/usr/bin/env bash
# Builds the docs as a site into var/docs, strictly: a broken link, a missing picture or a part of the code without a text is a fault.
# What it needs is installed into .venv first; where all is up to date, it takes a second.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/venv.sh create
if ! .venv/bin/python -c 'import furo, myst_parser, sphinx, typer, django' 2>/dev/null; then
    mapfile -t packages < <(.venv/bin/python scripts/requirements.py docs)
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-input -c constraints.txt "${packages[@]}"
fi
exec .venv/bin/python -m scripts.docs
