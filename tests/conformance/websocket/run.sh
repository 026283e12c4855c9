#!/usr/bin/env bash
# Runs the fuzzing client of the Autobahn test suite against our echo server and counts the cases. Compression is not offered, so its
# cases (12 and 13) are left out. --full adds section 9, large messages and many fragments. CACHE names the folder for what it
# installs (INSTALL_ONLY=1: and nothing else). Needs root, for a Debian with Python 2 in a folder. Build first: npx tsc -b
set -euo pipefail
cd "$(dirname "$0")/../../.."
cache="${CACHE:-$PWD/.cache/ci}"
debian="$cache/autobahn"
mkdir -p "$cache"
suite=25.10.1
excluded='"9.*","12.*","13.*"'
cases=247
if [ "${1:-}" = --full ]; then
  excluded='"12.*","13.*"'
  cases=301
fi

# The suite is written in Python 2, whose last Debian is 11.
install_suite() {
  command -v debootstrap >/dev/null ||
    { apt-get update -qq && apt-get install -y -qq --no-install-recommends debootstrap; } >/dev/null
  rm -rf "$debian"
  debootstrap --variant=minbase --include=python2-dev,gcc,libc6-dev,ca-certificates bullseye "$debian" >"$cache/autobahn-debian.log"
  python3 -m pip download --quiet --no-deps -d "$debian/root" pip==20.3.4
  # A machine behind a gateway has certificates of its own.
  cp "${SSL_CERT_FILE:-/etc/ssl/certs/ca-certificates.crt}" "$debian/root/certificates.crt"
  in_debian 'cd /root && python2 pip-20.3.4-py2.py3-none-any.whl/pip install -q --no-index pip-20.3.4-py2.py3-none-any.whl &&
    python2 -m pip install -q setuptools==44.1.1 wheel==0.37.1 incremental==16.10.1 typing &&
    python2 -m pip install -q autobahntestsuite=='"$suite" 2>"$cache/autobahn-pip.log"
  touch "$debian/root/installed"
}

in_debian() { # COMMAND
  chroot "$debian" env PIP_CERT=/root/certificates.crt SSL_CERT_FILE=/root/certificates.crt REQUESTS_CA_BUNDLE=/root/certificates.crt \
    PIP_DISABLE_PIP_VERSION_CHECK=1 PATH=/usr/local/bin:/usr/bin:/bin sh -c "$1"
}

[ -e "$debian/root/installed" ] || install_suite
[ -z "${INSTALL_ONLY:-}" ] || exit 0

work="$(mktemp -d)"
server_pid=""
cleanup() {
  if [ -n "$server_pid" ]; then kill "$server_pid" 2>/dev/null || true; fi
  rm -rf "$work"
}
trap cleanup EXIT
node tests/dist/conformance/websocket/server.js >"$work/port" &
server_pid=$!
for _ in $(seq 100); do
  if [ -s "$work/port" ]; then break; fi
  sleep 0.1
done
rm -rf "$debian/root/report"
cat >"$debian/root/spec.json" <<JSON
{ "outdir": "/root/report", "servers": [{ "agent": "millrace", "url": "ws://127.0.0.1:$(cat "$work/port")" }],
  "cases": ["*"], "exclude-cases": [$excluded], "exclude-agent-cases": {} }
JSON
in_debian 'wstest -m fuzzingclient -s /root/spec.json' >"$cache/autobahn.log" 2>&1
# The client ends well whatever it found: its report tells.
node tests/dist/conformance/websocket/verdict.js "$debian/root/report/index.json" "$cases"
