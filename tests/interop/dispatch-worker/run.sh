#!/usr/bin/env bash
# A worker in Python, written from docs/reference/dispatch.md, behind the local lane. Needs python3; build first: npx tsc -b
set -euo pipefail
cd "$(dirname "$0")/../../.."
node node_modules/vitest/vitest.mjs run --config tests/interop/dispatch-worker/vitest.config.ts
