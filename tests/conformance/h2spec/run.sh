#!/usr/bin/env bash
# Runs h2spec in strict mode against our server, plain and over TLS, and counts the cases.
# Usage: run.sh [RUNS]; H2SPEC names the program (default: h2spec on the PATH). Build first: npx tsc -b
set -euo pipefail
cd "$(dirname "$0")/../../.."
h2spec="${H2SPEC:-h2spec}"
runs="${1:-1}"
work="$(mktemp -d)"
server_pid=""
cleanup() {
  if [ -n "$server_pid" ]; then kill "$server_pid" 2>/dev/null || true; fi
  rm -rf "$work"
}
trap cleanup EXIT
openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -keyout "$work/key.pem" -out "$work/cert.pem" 2>/dev/null

failures=0
run_against() { # NAME H2SPEC_FLAGS SERVER_ARGUMENTS...
  local name="$1" flags="$2"
  shift 2
  node tests/dist/conformance/h2spec/server.js "$@" >"$work/port" &
  server_pid=$!
  for _ in $(seq 100); do
    if [ -s "$work/port" ]; then break; fi
    sleep 0.1
  done
  for run in $(seq "$runs"); do
    # shellcheck disable=SC2086
    "$h2spec" -S $flags -h 127.0.0.1 -p "$(cat "$work/port")" -o 2 -j "$work/report.xml" >"$work/output" 2>&1 || true
    # The report holds control characters, which no reader of text expects.
    tr -d '\000-\010\013\014\016-\037' <"$work/report.xml" >"$work/clean.xml"
    local cases failed skipped
    cases=$(grep -c '<testcase ' "$work/clean.xml" || true)
    failed=$(grep -c '<failure' "$work/clean.xml" || true)
    failed=$((failed + $(grep -c '<error' "$work/clean.xml" || true)))
    skipped=$(grep -c '<skipped' "$work/clean.xml" || true)
    echo "$name run $run: $((cases - failed - skipped)) passed, $failed failed, $skipped skipped"
    if [ "$failed" -gt 0 ] || [ "$cases" -lt 140 ]; then
      failures=$((failures + 1))
      tr -d '\000-\010\013\014\016-\037' <"$work/output" | grep -a -A 30 'Failures:' || true
    fi
  done
  kill "$server_pid"
  wait "$server_pid" || true
  server_pid=""
  rm -f "$work/port"
}

run_against plain ""
run_against tls "-t -k" "$work/cert.pem" "$work/key.pem"
exit "$failures"
