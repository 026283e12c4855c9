#!/usr/bin/env bash
# What decoders in the forms of many exporters generate, against ONNX Runtime in Python on the files as they were written.
# CACHE names the folder for what it installs (INSTALL_ONLY=1: and nothing else). Arguments go to pytest. Build first: npx tsc -b
set -euo pipefail
cd "$(dirname "$0")"
cache="${CACHE:-$PWD/../../../.cache/ci}"
python="$cache/python-decoders"
[ -x "$python/bin/python" ] || python3 -m venv "$python"
"$python/bin/pip" install --quiet --disable-pip-version-check -r requirements.txt
[ -z "${INSTALL_ONLY:-}" ] || exit 0
PYTHONDONTWRITEBYTECODE=1 "$python/bin/python" -m pytest -q -p no:cacheprovider --timeout 300 --tb=short "$@"
