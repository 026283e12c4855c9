#!/usr/bin/env bash
# Durable streams in a real Chromium: EventSource, WebSocket, gRPC-Web and Connect, through a worker kill, a cut link and a router kill; outputs must equal those of an undisturbed run. CACHE names the
# folder for what it installs (INSTALL_ONLY=1: and nothing else), CHROMIUM the browser (default /usr/bin/chromium, Debian's package). Build first: npx tsc -b
set -euo pipefail
cd "$(dirname "$0")/../../.."
cache="${CACHE:-$PWD/.cache/ci}"
folder="$cache/browser-streams"
mkdir -p "$folder"
[ -d "$folder/node_modules/playwright-core" ] || npm install --silent --no-save --prefix "$folder" \
  @connectrpc/connect@2.1.1 @connectrpc/connect-web@2.1.1 @bufbuild/protobuf@2.17.0 @bufbuild/buf@1.74.0 \
  @bufbuild/protoc-gen-es@2.13.0 esbuild@0.28.2 playwright-core@1.65.0
if [ ! -x "${CHROMIUM:-/usr/bin/chromium}" ]; then
  apt-get update -q && apt-get install -y -q --no-install-recommends chromium
fi
[ -z "${INSTALL_ONLY:-}" ] || exit 0
cp tests/interop/browser-streams/page.ts "$folder/page.ts"
template='{"version":"v2","plugins":[{"local":"protoc-gen-es","out":"'$folder'/generated","opt":["target=ts"]}]}'
(cd proto && PATH="$folder/node_modules/.bin:$PATH" buf generate --config '{"version":"v2"}' --template "$template")
"$folder/node_modules/.bin/esbuild" "$folder/page.ts" --bundle --format=iife --log-level=warning --outfile="$folder/page.js"
timeout 300 node tests/interop/browser-streams/run.mjs "$folder/node_modules" "$folder/page.js"
