#!/bin/bash
# inside.sh start | stop | online COMMAND… | offline COMMAND…
#
# Run podman and buildah in namespaces of their own, so that this machine's mounts, bridges and firewall stay as they are.
# `online` uses this machine's network, for builds. `offline` has a network that ends in itself, for compose: only commands
# that run `offline` too can reach the ports that compose publishes.
set -euo pipefail
export TRY="${TRY:-${TMPDIR:-/tmp}/drafthouse-try}"
export CONTAINERS_CONF="$TRY/containers.conf" CONTAINERS_STORAGE_CONF="$TRY/storage.conf"

configure() {
    mkdir -p "$TRY"
    cat >"$CONTAINERS_STORAGE_CONF" <<CONF
[storage]
driver = "overlay"
graphroot = "$TRY/images"
runroot = "$TRY/run"
CONF
    # Limits of processes and files are those of this shell: a container may lower them, and cannot raise them.
    cat >"$CONTAINERS_CONF" <<CONF
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
[containers]
log_driver = "k8s-file"
default_ulimits = ["nofile=$(ulimit -Hn):$(ulimit -Hn)", "nproc=4096:4096"]
[network]
network_backend = "netavark"
CONF
}

# Runs in the new namespaces. crun refuses a machine that mounts both versions of cgroups, so the second one goes.
PREPARED='
    umount /sys/fs/cgroup/unified 2>/dev/null || true
    mkdir -p /run/netns && mount -t tmpfs tmpfs /run/netns
    ip link set lo up
    echo $$ >"$TRY/pid"
    exec sleep infinity'

enter() { exec nsenter --target "$(cat "$TRY/pid")" --mount --wdns="$PWD" "$@"; }

command=$1
shift
case "$command" in
start)
    configure
    rm -f "$TRY/pid"
    unshare --mount --net --propagation private sh -c "$PREPARED" </dev/null >/dev/null 2>&1 &
    until [ -s "$TRY/pid" ]; do sleep 0.1; done ;;
stop) kill "$(cat "$TRY/pid")" && rm "$TRY/pid" ;;
online) enter "$@" ;;
offline) enter --net "$@" ;;
*) sed -n 2p "$0" >&2; exit 2 ;;
esac
