#!/usr/bin/env bash
# Prepares this machine for the suites on real parts: Debian packages, a Docker Engine with the runtime image, a browser. Python is there by now.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scripts/system.sh test
.venv/bin/python -m workers.images ensure </dev/null
if ! command -v chromium-headless-shell chromium google-chrome >/dev/null; then
    .venv/bin/python -m playwright install --with-deps chromium </dev/null
fi
