#!/usr/bin/env bash
# What a server and its child processes do to the system, watched by strace. Installs strace where it is missing (Debian, as
# root). Build first: npx tsc -b
set -uo pipefail
cd "$(dirname "$0")/../.." || exit 1
command -v strace >/dev/null ||
  { apt-get update -qq && apt-get install -y -qq --no-install-recommends strace; } >/dev/null 2>&1
if ! strace -V >/dev/null 2>&1; then
  echo 'strace cannot be installed'
  echo '0 passed, 1 failed'
  exit 1
fi
node tests/dist/strace/main.js
