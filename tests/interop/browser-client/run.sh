#!/usr/bin/env bash
# The client (@millrace/client) in real browsers, side by side, on another origin and on the server's own: its contract over every web transport, streams through a worker kill, a cut link and a router
# kill, a page reload, two tabs, the pages of docs/examples. BROWSERS are chromium and firefox; CHROMIUM and FIREFOX name their programs (default: Debian's packages, installed where missing). CACHE names
# the folder for what it installs (INSTALL_ONLY=1: and nothing else). Build first: npx tsc -b
set -euo pipefail
cd "$(dirname "$0")/../../.."
cache="${CACHE:-$PWD/.cache/ci}"
folder="$cache/browser-client"
mkdir -p "$folder"
[ -d "$folder/node_modules/playwright-core" ] || npm install --silent --no-save --prefix "$folder" playwright-core@1.63.0 # 1.65 cannot drive Firefox ESR 153
browsers="${BROWSERS:-chromium firefox}"
for browser in $browsers; do
  if [ "$browser" = firefox ]; then package=firefox-esr path="${FIREFOX:-/usr/bin/firefox-esr}"; else package=chromium path="${CHROMIUM:-/usr/bin/chromium}"; fi
  [ -x "$path" ] || { apt-get update -q && apt-get install -y -q --no-install-recommends "$package"; }
done
[ -z "${INSTALL_ONLY:-}" ] || exit 0
npx tsc -p tests/interop/browser-client
status=0 pids=()
for browser in $browsers; do
  timeout 900 node tests/interop/browser-client/run.mjs "$folder/node_modules" "$browser" >"$folder/$browser.log" 2>&1 &
  pids+=("$!")
done
for pid in "${pids[@]}"; do wait "$pid" || status=1; done
for browser in $browsers; do cat "$folder/$browser.log"; done
exit "$status"
