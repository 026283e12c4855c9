#!/usr/bin/env bash
# @grpc/grpc-js as a client. CACHE names the folder for what it installs (INSTALL_ONLY=1: and nothing else). Build first: npx tsc -b
set -euo pipefail
cd "$(dirname "$0")/../../.."
cache="${CACHE:-$PWD/.cache/ci}"
mkdir -p "$cache/grpc-js"
[ -d "$cache/grpc-js/node_modules/@grpc/proto-loader" ] ||
  npm install --silent --no-save --prefix "$cache/grpc-js" @grpc/grpc-js@1.14.7 @grpc/proto-loader@0.8.1
[ -z "${INSTALL_ONLY:-}" ] || exit 0
port_file="$(mktemp)"
node tests/dist/interop/echo-service/server.js >"$port_file" &
server_pid=$!
trap 'kill "$server_pid" 2>/dev/null || true; rm -f "$port_file"' EXIT
for _ in $(seq 100); do
  if [ -s "$port_file" ]; then break; fi
  sleep 0.1
done
CLIENT_MODULES="$cache/grpc-js/node_modules" timeout 120 node tests/interop/grpc-js/client.mjs "$(cat "$port_file")"
