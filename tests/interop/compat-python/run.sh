#!/usr/bin/env bash
# Stubs that grpcio generates from the compatibility contracts, against real servers whose processes are killed.
# CACHE names the folder for what it installs (INSTALL_ONLY=1: and nothing else). Build first: npm run build
set -euo pipefail
cd "$(dirname "$0")"
cache="${CACHE:-$PWD/../../../.cache/ci}"
python="$cache/python-compat"
[ -x "$python/bin/python" ] || python3 -m venv "$python"
"$python/bin/pip" install --quiet --disable-pip-version-check -r requirements.txt
[ -z "${INSTALL_ONLY:-}" ] || exit 0
"$python/bin/python" -m pytest -q -p no:cacheprovider
