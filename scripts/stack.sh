#!/usr/bin/env bash
# Builds the images of docker-compose.yml from this checkout, each once; a second caller waits for the first, and nothing is left to do.
# scripts/test.sh begins with it in the background, and the tests of the stack call it again.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

services=(postgres redis web worker front tls) # others have the image of `web`
sources=(.dockerignore LICENSE README.md SECURITY.md client competitions constraints.txt docker docker-compose.yml docs files manage.py platform
    pyproject.toml scoring scripts/docs scripts/requirements.py scripts/stack.sh workers)

# What the images were built of, and which they are.
state() {
    find "${sources[@]}" -type f -not -name '*.pyc' -not -name '*.whl' -print0 | sort -z | xargs -0 sha256sum
    docker image inspect --format '{{.Id}}' debian:bookworm-slim podium/{postgres,redis,site,worker,front,tls}:local
}

mkdir -p var
exec 9>var/stack.lock
flock 9
scripts/wheels.sh
scripts/docs.sh # the image takes them as they are, in place of building them again
if built=$(state 2>&1 | sha256sum) && [ "$(cat var/stack.built 2>/dev/null)" = "$built" ]; then exit 0; fi
compose=(docker-compose)
if docker compose version >/dev/null 2>&1; then compose=(docker compose); fi
"${compose[@]}" --project-name "${1:-podium-test}" --profile tls build "${services[@]}" </dev/null 9>&-
state | sha256sum >var/stack.built
