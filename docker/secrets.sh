#!/bin/sh
# docker/secrets.sh [NAME]: make the passwords that docker-compose.yml needs. Passwords that are there stay as they are.
# With NAME, also make a self-signed certificate for it, to try the profile nginx with.
set -eu
umask 077
touch .env
grep -q '^DRAFTHOUSE_SECRETS=' .env || printf '\nDRAFTHOUSE_SECRETS=./secrets\n' >>.env
folder=$(sed -n 's/^DRAFTHOUSE_SECRETS=//p' .env | tail -n 1)
mkdir -p "$folder"
chmod 700 "$folder"

# Containers run as users of their own, so the files are readable by all, and the folder lets nobody else in.
for name in postgres_password valkey_password s3_secret_key; do
    [ -s "$folder/$name" ] || od -An -N24 -tx1 /dev/urandom | tr -d ' \n' >"$folder/$name"
    chmod 444 "$folder/$name"
done

if [ $# -gt 0 ] && [ ! -e "$folder/tls.key" ]; then
    openssl req -x509 -nodes -days 365 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -subj "/CN=$1" \
        -addext "subjectAltName=DNS:$1" -keyout "$folder/tls.key" -out "$folder/tls.crt" 2>/dev/null
    chmod 444 "$folder/tls.key" "$folder/tls.crt"
fi
echo "The secrets are in $folder. Keep a copy of them with your backups, and show them to nobody."
