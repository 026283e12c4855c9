#!/usr/bin/env bash
# Runs the Connect conformance suite against our server: gRPC, gRPC-Web and Connect over HTTP/1.1 and HTTP/2, every case.
# Usage: run.sh [FLAGS OF THE RUNNER]; CACHE names the folder for what it installs (INSTALL_ONLY=1: and nothing else; DESCRIPTORS=FILE: writes the suite's descriptors there, and runs nothing). Build first: npx tsc -b
set -euo pipefail
cd "$(dirname "$0")/../../.."
cache="${CACHE:-$PWD/.cache/ci}"
version=v1.0.6
mkdir -p "$cache/bin"
[ -x "$cache/bin/connectconformance" ] ||
  GOBIN="$cache/bin" go install "connectrpc.com/conformance/cmd/connectconformance@$version"
[ -x "$cache/buf/node_modules/.bin/buf" ] ||
  npm install --silent --no-save --prefix "$cache/buf" @bufbuild/buf@1.74.0 @bufbuild/protoc-gen-es@2.13.0
[ -z "${INSTALL_ONLY:-}" ] || exit 0
descriptors="${DESCRIPTORS:-$cache/conformance.binpb}"
suite="$(go env GOMODCACHE)/connectrpc.com/conformance@$version"
(cd "$suite/proto" &&
  "$cache/buf/node_modules/.bin/buf" build . --config '{"version":"v2"}' --as-file-descriptor-set -o "$descriptors")
[ -z "${DESCRIPTORS:-}" ] || exit 0

log="$cache/connectconformance.log"
status=0
"$cache/bin/connectconformance" --mode server --conf tests/conformance/connect/config.yaml "$@" -- \
  node tests/dist/conformance/connect/server.js "$descriptors" >"$log" 2>&1 || status=$?
tail -n 60 "$log"
# The runner ends with its own count; what it must not do in silence is to run fewer cases than there are.
if [ $# -eq 0 ] && ! grep -aq '^Total cases: 3820$' "$log"; then
  echo 'the suite did not run all of its 3820 cases'
  status=1
fi
exit "$status"
