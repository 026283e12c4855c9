#!/usr/bin/env bash
# Random ONNX graphs, served and compared with ONNX Runtime in Python. CACHE names the folder for what it installs (INSTALL_ONLY=1: and nothing else); what follows the script's
# name goes to the runner: run.sh --graphs 100000 --report report.json. Build first: npx tsc -b
set -euo pipefail
export ORT_DISABLE_TELEMETRY=1
cd "$(dirname "$0")/../.."
cache="${CACHE:-$PWD/.cache/ci}"
python="$cache/python-oracle"
[ -x "$python/bin/python" ] || python3 -m venv "$python"
"$python/bin/pip" install --quiet --disable-pip-version-check -r tests/oracle/requirements.txt
[ -z "${INSTALL_ONLY:-}" ] || exit 0
status=0
node tests/dist/oracle/random-graphs/self-test.js --python "$python/bin/python" || status=1
node tests/dist/oracle/random-graphs/main.js --python "$python/bin/python" "$@" || status=1
exit "$status"
