#!/usr/bin/env bash
# Tokens, text and sampling of packages/generation against Hugging Face's tokenizers, Jinja and numpy.
# CACHE names the folder for what it installs (INSTALL_ONLY=1: and nothing else). Arguments go to pytest. Build first: npx tsc -b
set -euo pipefail
cd "$(dirname "$0")"
cache="${CACHE:-$PWD/../../../.cache/ci}"
python="$cache/python-generation"
[ -x "$python/bin/python" ] || python3 -m venv "$python"
"$python/bin/pip" install --quiet --disable-pip-version-check -r requirements.txt
[ -z "${INSTALL_ONLY:-}" ] || exit 0
TOKENIZERS_PARALLELISM=false "$python/bin/python" -m pytest -q -p no:cacheprovider --timeout 300 --tb=short "$@"
