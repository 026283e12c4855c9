#!/usr/bin/env bash
# Runs the Connect conformance suite against our client: gRPC over its own HTTP/2, with and without TLS, and gRPC-Web and Connect by fetch; every case of what it speaks.
# Usage: run.sh [FLAGS OF THE RUNNER]; CACHE names the folder for what it installs (INSTALL_ONLY=1: and nothing else). Build first: npx tsc -b
set -euo pipefail
cd "$(dirname "$0")/../../.."
cache="${CACHE:-$PWD/.cache/ci}"
CACHE="$cache" INSTALL_ONLY=1 bash tests/conformance/connect/run.sh
[ -z "${INSTALL_ONLY:-}" ] || exit 0
descriptors="$cache/conformance-client.binpb"
CACHE="$cache" DESCRIPTORS="$descriptors" bash tests/conformance/connect/run.sh

log="$cache/connectconformance-client.log"
status=0
"$cache/bin/connectconformance" --mode client --conf tests/conformance/connect-client/config.yaml "$@" -- \
  node tests/dist/conformance/connect-client/client.js "$descriptors" >"$log" 2>&1 || status=$?
tail -n 60 "$log"
# The runner ends with its own count; what it must not do in silence is to run fewer cases than there are.
if [ $# -eq 0 ] && ! grep -aq '^Total cases: 596$' "$log"; then
  echo 'the suite did not run all of its 596 cases'
  status=1
fi
exit "$status"
