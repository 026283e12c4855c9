#!/usr/bin/env bash
# The attacks on a real server, each with bystanders from another address. What follows the script's name goes to the runner:
# run.sh --only zip-bombs --seconds 10, run.sh --long. Build first: npx tsc -b
set -euo pipefail
cd "$(dirname "$0")/../.."
# Attackers open more connections than the server lets in.
ulimit -n "$(ulimit -Hn)" 2>/dev/null || true
node tests/dist/attacks/main.js "$@"
