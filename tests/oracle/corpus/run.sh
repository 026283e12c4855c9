#!/usr/bin/env bash
# The corpora: traps as they are made, models of many kinds, ONNX's node cases; each against onnxruntime.
# CACHE names the folder for what it installs (INSTALL_ONLY=1: and nothing else). Arguments go to pytest. Build first: npx tsc -b
set -euo pipefail
export ORT_DISABLE_TELEMETRY=1
cd "$(dirname "$0")"
cache="${CACHE:-$PWD/../../../.cache/ci}"
python="$cache/python-corpus"
[ -x "$python/bin/python" ] || python3 -m venv "$python"
"$python/bin/pip" install --quiet --disable-pip-version-check -r requirements.txt
[ -z "${INSTALL_ONLY:-}" ] || exit 0
"$python/bin/python" -m pytest -q -p no:cacheprovider --timeout 300 --tb=line "$@"
