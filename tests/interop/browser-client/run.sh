#!/usr/bin/env bash
# The client (@millrace/client) in a real browser, on another origin and on the server's own: its contract over both web transports, streams through a worker kill, a cut link and a router kill, a page
# reload, two tabs. CACHE names the folder for what it installs (INSTALL_ONLY=1: and nothing else), CHROMIUM the browser (default /usr/bin/chromium, Debian's package). Build first: npx tsc -b
set -euo pipefail
cd "$(dirname "$0")/../../.."
cache="${CACHE:-$PWD/.cache/ci}"
folder="$cache/browser-client"
mkdir -p "$folder"
[ -d "$folder/node_modules/playwright-core" ] || npm install --silent --no-save --prefix "$folder" playwright-core@1.63.0
if [ ! -x "${CHROMIUM:-/usr/bin/chromium}" ]; then
  apt-get update -q && apt-get install -y -q --no-install-recommends chromium
fi
[ -z "${INSTALL_ONLY:-}" ] || exit 0
timeout 300 node tests/interop/browser-client/run.mjs "$folder/node_modules" chromium
