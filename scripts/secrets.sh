#!/usr/bin/env bash
# Makes the secrets that docker-compose.yml mounts, each in a file that its owner alone can read. Existing ones stay.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

umask 077
folder=${PODIUM_SECRETS:-secrets}
mkdir -p "$folder"
random() { head -c 36 /dev/urandom | base64 | tr '+/' '-_' | tr -d '\n'; } # 48 letters, as they may stand in an address
keep() { # NAME VALUE: a value that is there is never replaced
    [ -s "$folder/$1" ] && return
    printf '%s' "$2" >"$folder/$1.new"
    mv "$folder/$1.new" "$folder/$1"
    echo "secrets: made $folder/$1" >&2
}

# The folder is closed to everybody else; the files in it are readable, because each container mounts its own
# few of them and runs as a user of its own.
chmod 700 "$folder"
postgres_password=$(cat "$folder/postgres_password" 2>/dev/null || random)
redis_password=$(cat "$folder/redis_password" 2>/dev/null || random)
keep postgres_password "$postgres_password"
keep redis_password "$redis_password"
keep secret_key "$(random)$(random)"
keep queue_token "podiumq_$(random)"
keep database_url "postgres://podium:$postgres_password@postgres:5432/podium"
keep broker_url "redis://:$redis_password@redis:6379/0"
keep cache_url "rediscache://:$redis_password@redis:6379/1"
# Those of other sites whose accounts people sign in with, and of a forum: empty until somebody writes them.
for name in github orcid oidc discourse; do [ -e "$folder/${name}_secret" ] || : >"$folder/${name}_secret"; done
chmod 444 "$folder"/*
