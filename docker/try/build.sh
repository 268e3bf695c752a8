#!/bin/bash
# build.sh [web] [worker] [worker-gpu]: build targets of the Dockerfile with buildah. Run it by `inside.sh online`, in the checkout.
#
# pip and npm reach their registries the way this machine does: the build sees this machine's settings, certificates and
# folders of packages, and no layer keeps them.
set -euo pipefail
mounts=()
see() { # PATH [PATH INSIDE]
    [ ! -e "$1" ] || mounts+=(--volume "$1:${2:-$1}:ro")
}
see /etc/ssl/certs/ca-certificates.crt
see /etc/pip.conf
see "$HOME/.config/pip/pip.conf" /root/.config/pip/pip.conf
see "$HOME/.npmrc" /root/.npmrc
see "$(npm config get globalconfig 2>/dev/null)" /usr/local/etc/npmrc
for folder in $(pip config list 2>/dev/null | grep -oE "/[[:alnum:]_.-]+/[[:alnum:]_.-]+" | sort -u); do
    [ ! -d "$folder" ] || [[ "$folder" = /etc/* ]] || see "$folder"
done
[ $# -gt 0 ] || set -- web worker
for target in "$@"; do
    buildah build --layers --pull-never --network host --isolation oci "${mounts[@]}" \
        --build-arg TORCH_INDEX="${TORCH_INDEX:-}" --build-arg COMMIT="$(git rev-parse HEAD)" --target "$target" --tag "localhost/drafthouse-$target" .
done
