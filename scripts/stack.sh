#!/usr/bin/env bash
# Builds the images of docker-compose.yml from this checkout; a second caller waits for the first and finds its layers.
# scripts/test.sh begins with it in the background, and the tests of the stack call it again: then it takes seconds.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mkdir -p var
exec 9>var/stack.lock
flock 9
scripts/wheels.sh
compose=(docker-compose)
if docker compose version >/dev/null 2>&1; then compose=(docker compose); fi
"${compose[@]}" --project-name "${1:-podium-test}" --profile tls build </dev/null 9>&-
