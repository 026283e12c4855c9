#!/usr/bin/env bash
# Stubs that protoc-gen-go makes of the compatibility contracts, against a real server whose processes are killed.
# CACHE names the folder for what it installs (INSTALL_ONLY=1: and nothing else). Build first: npm run build
set -euo pipefail
cd "$(dirname "$0")"
cache="${CACHE:-$PWD/../../../.cache/ci}"
mkdir -p "$cache/bin"
root="$(cd ../../.. && pwd)"
# protoc is the one that grpcio-tools brings.
INSTALL_ONLY=1 CACHE="$cache" bash ../compat-python/run.sh
[ -x "$cache/bin/protoc-gen-go" ] || GOBIN="$cache/bin" go install google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12
[ -x "$cache/bin/protoc-gen-go-grpc" ] || GOBIN="$cache/bin" go install google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2
go mod download
[ -z "${INSTALL_ONLY:-}" ] || exit 0
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
cp go.mod go.sum ./*.go "$work"
files=(inference/v1/inference.proto=compat/stubs/text realtime/inference/inference.proto=compat/stubs/realtime)
options=()
for file in "${files[@]}"; do options+=("--go_opt=M$file" "--go-grpc_opt=M$file"); done
PATH="$cache/bin:$PATH" "$cache/python-compat/bin/python" -m grpc_tools.protoc -I"$root/proto" --go_out="$work" --go_opt=module=compat \
  --go-grpc_out="$work" --go-grpc_opt=module=compat "${options[@]}" "${files[@]%%=*}"
cd "$work"
status=0
# As a stock installation has it, for the command in docs/clients.md.
mkdir "$work/bin"
printf '#!/bin/sh\nexec "%s" -m grpc_tools.protoc "$@"\n' "$cache/python-compat/bin/python" >"$work/bin/protoc"
chmod +x "$work/bin/protoc"
PATH="$work/bin:$cache/bin:$PATH" REPOSITORY_ROOT="$root" go test -count=1 -timeout 5m -v . >"$work/log" 2>&1 || status=$?
grep -v '^=== ' "$work/log"
# Subtests are indented and not counted.
echo "$(grep -c '^--- PASS' "$work/log" || true) passed, $(grep -c '^--- FAIL' "$work/log" || true) failed"
exit "$status"
