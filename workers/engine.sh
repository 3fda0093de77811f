#!/usr/bin/env bash
# Makes a Docker Engine answer on this machine, without a prompt or a terminal.
#
#   workers/engine.sh                     nothing to do when an engine answers; else install and start one
#   workers/engine.sh --install PKG...    install Debian packages that are missing, and nothing else
#
# Where services are managed (systemd), the engine is started as a service; elsewhere dockerd is started by hand
# and its log is kept in var/dockerd.log (PODIUM_VAR names another folder). Exit status 0: the engine answers.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
var=${PODIUM_VAR:-$root/var}
log=$var/dockerd.log

say() { printf 'engine: %s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

answers() { command -v docker >/dev/null && docker version --format '{{.Server.Version}}' >/dev/null 2>&1; }

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"
    elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then sudo -n "$@"
    else die "root is needed for: $*. Run it as root, or install and start Docker yourself, then try again."
    fi
}

install_packages() {
    command -v apt-get >/dev/null || die "this system has no apt-get; install $* by hand, then try again."
    say "installing $* (Debian packages)"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq update </dev/null >&2 ||
        say "apt-get update failed in part; trying with the package lists that are there"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends \
        -o Dpkg::Options::=--force-confold -o Dpkg::Use-Pty=0 install "$@" </dev/null >&2
}

# Waits for the engine: 0 it answers, 1 the process ended or a minute went by.
wait_for() {
    local pid=$1 tries
    for ((tries = 0; tries < 240; tries++)); do
        answers && return 0
        as_root kill -0 "$pid" 2>/dev/null || return 1
        sleep 0.25
    done
    return 1
}

# Starts dockerd in a session of its own, with no descriptor of ours left open in it (CI would wait for them).
start_by_hand() {
    local before=$1 pid
    shift
    say "starting dockerd $*"
    printf '== dockerd %s\n' "$*" >>"$log"
    as_root env PATH="$before$PATH" setsid nohup dockerd "$@" </dev/null >>"$log" 2>&1 9>&- &
    pid=$!
    disown "$pid"
    wait_for "$pid" && return 0
    as_root kill "$pid" 2>/dev/null || true
    for _ in 1 2 3 4 5 6 7 8 9 10 11 12; do as_root kill -0 "$pid" 2>/dev/null || break; sleep 0.25; done
    return 1
}

# A folder whose `iptables` is the legacy one, for kernels without nf_tables.
legacy_path() {
    command -v iptables-legacy >/dev/null || return 0
    mkdir -p "$var/iptables-legacy"
    ln -sf "$(command -v iptables-legacy)" "$var/iptables-legacy/iptables"
    ln -sf "$(command -v ip6tables-legacy)" "$var/iptables-legacy/ip6tables"
    printf '%s:' "$var/iptables-legacy"
}

# Removes what an engine that was killed left behind. A new one would take a zombie, or another program that has got the number
# since, for the old engine, and refuse to start.
clear_stale_pids() {
    local name file pid
    while read -r name file; do
        pid=$(as_root cat "$file" 2>/dev/null) || continue
        [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "$name" ] && ! grep -qs '^State:[[:space:]]*Z' "/proc/$pid/status" && continue
        say "removing $file of an engine that is gone"
        as_root rm -f "$file"
    done <<<"dockerd /var/run/docker.pid
containerd /var/run/docker/containerd/containerd.pid"
}

start_engine() {
    clear_stale_pids
    if [ -d /run/systemd/system ]; then
        say "starting the service docker"
        as_root systemctl start docker && { answers || sleep 2; answers; } && return 0
    fi
    # Each next line gives up a little: NAT for containers, then their bridge, then the fast storage driver.
    start_by_hand "" && return 0
    start_by_hand "$(legacy_path)" && return 0
    start_by_hand "" --iptables=false && return 0
    start_by_hand "" --iptables=false --bridge=none && return 0
    start_by_hand "" --iptables=false --bridge=none --storage-driver=vfs && return 0
    return 1
}

main() {
    if [ "${1:-}" = --install ]; then
        shift
        install_packages "$@"
        return
    fi
    answers && return 0
    mkdir -p "$var"
    exec 9>"$var/engine.lock"
    flock 9 # two callers at once start one engine
    answers && return 0
    command -v dockerd >/dev/null && command -v docker >/dev/null || install_packages docker.io iptables ca-certificates
    answers && return 0
    start_engine || die "no Docker Engine came up; the last lines of $log: $(tail -n 5 "$log" 2>/dev/null)"
    say "Docker Engine $(docker version --format '{{.Server.Version}}') answers"
}

main "$@"
