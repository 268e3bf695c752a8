#!/bin/bash
# compose.sh up | down [-v] | start, stop, kill, health or logs SERVICE | exec SERVICE COMMAND…
#
# Drive docker-compose.yml by podman-compose, for machines without a Docker daemon. Run it by `inside.sh offline`, in the
# checkout. Old podman neither waits for healthy services nor, without systemd, runs health checks: both are done here.
set -euo pipefail
compose=("${PODMAN_COMPOSE:-podman-compose}" --no-ansi --in-pod false)
proxy="${PROXY:-nginx}"
# Docker gives a read-only container no writable folders by itself. Podman does, unless told otherwise.
run_args=(--podman-run-args=--read-only-tmpfs=false)

container() { # SERVICE
    local label=com.docker.compose
    podman ps --all --quiet --filter "label=$label.project=$(basename "$PWD")" --filter "label=$label.service=$1"
}
health() { podman healthcheck run "$(container "$1")" >/dev/null 2>&1; }
healthy() { # SERVICE…
    for service in "$@"; do
        for _ in $(seq 60); do health "$service" && continue 2; sleep 1; done
        podman logs --tail 20 "$(container "$service")" >&2
        echo "$service is not healthy after 60 tries." >&2
        return 1
    done
}
begin() { "${compose[@]}" --profile "$proxy" "${run_args[@]}" up --no-build --detach --no-deps "$@" >/dev/null; }

command=$1
shift
case "$command" in
up)
    begin db valkey
    healthy db valkey
    begin prepare
    [ "$(podman wait "$(container prepare)")" = 0 ] || { podman logs "$(container prepare)" >&2; exit 1; }
    begin web scheduler worker worker-light
    healthy web scheduler worker worker-light
    begin "$proxy"
    healthy "$proxy" ;;
down) "${compose[@]}" --profile "$proxy" down "$@" >/dev/null ;;
start) podman start "$(container "$1")" >/dev/null ;;
stop | kill) podman "$command" "$(container "$1")" >/dev/null ;;
exec) service=$1; shift; podman exec --interactive "$(container "$service")" "$@" ;;
health) health "$1" ;;
logs) podman logs "$(container "$1")" ;;
*) sed -n 2p "$0" >&2; exit 2 ;;
esac
