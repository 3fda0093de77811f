#!/bin/sh
# The broker's address has a password in it, so it comes as a file.
set -eu
if [ -n "${PODIUM_WORKER_BROKER_FILE:-}" ]; then
    PODIUM_WORKER_BROKER=$(cat "$PODIUM_WORKER_BROKER_FILE")
    export PODIUM_WORKER_BROKER
    unset PODIUM_WORKER_BROKER_FILE
fi
exec python -m workers.cli "$@"
