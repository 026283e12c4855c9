#!/usr/bin/env bash
# Makes the TypeScript of the public contracts again; with --check says whether what is committed is current.
# CACHE names the folder for what it installs (INSTALL_ONLY=1: and nothing else).
set -euo pipefail
cd "$(dirname "$0")"
cache="${CACHE:-$PWD/../.cache/ci}"
[ -x "$cache/buf/node_modules/.bin/buf" ] ||
  npm install --silent --no-save --prefix "$cache/buf" @bufbuild/buf@1.74.0 @bufbuild/protoc-gen-es@2.13.0
[ -z "${INSTALL_ONLY:-}" ] || exit 0
export PATH="$cache/buf/node_modules/.bin:$PATH"
committed=../packages/router/src/proto/generated
if [ "${1:-}" != --check ]; then
  buf generate
  exit
fi
fresh="$(mktemp -d)"
trap 'rm -rf "$fresh"' EXIT
sed "s#out: .*#out: $fresh/generated#" buf.gen.yaml >"$fresh/buf.gen.yaml"
buf generate --template "$fresh/buf.gen.yaml"
if diff -r "$committed" "$fresh/generated"; then
  echo '1 passed, 0 failed'
else
  echo 'the generated code is not what proto/ says: run npm run proto'
  echo '0 passed, 1 failed'
  exit 1
fi
