#!/usr/bin/env bash
# grpcurl by reflection, ghz, and curl over both versions of HTTP, against a real server.
# CACHE names the folder for what it installs (INSTALL_ONLY=1: and nothing else). Build first: npx tsc -b
set -uo pipefail
cd "$(dirname "$0")/../../.." || exit 1
cache="${CACHE:-$PWD/.cache/ci}"
mkdir -p "$cache/bin"
[ -x "$cache/bin/grpcurl" ] || GOBIN="$cache/bin" go install github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.4 || exit 1
[ -x "$cache/bin/ghz" ] || GOBIN="$cache/bin" go install github.com/bojand/ghz/cmd/ghz@v0.93.0 || exit 1
[ -z "${INSTALL_ONLY:-}" ] || exit 0

work="$(mktemp -d)"
node packages/millrace/bin/millrace.js serve tests/models --http-port 0 --grpc-port 0 --metrics-port 0 >"$work/log" &
server_pid=$!
trap 'kill "$server_pid" 2>/dev/null; rm -rf "$work"' EXIT
field() { grep -o "\"$1\":\"http://[^\"]*\"" "$work/log" | head -n 1 | sed 's/.*http:\/\///; s/"$//'; }
for _ in $(seq 200); do
  http="$(field httpUrl)"
  grpc="$(field grpcUrl)"
  if [ -n "$http" ] && curl -sf "http://$http/v2/health/ready"; then break; fi
  sleep 0.1
done

passed=0
failed=0
# expect NAME PATTERN COMMAND…: the command's output, both streams, must hold the pattern.
expect() {
  local name=$1 pattern=$2 output
  shift 2
  output="$("$@" 2>&1)"
  if grep -qE -- "$pattern" <<<"$output"; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    printf 'FAILED %s: no %s in:\n%s\n' "$name" "$pattern" "$output"
  fi
}

row() { node -e 'console.log(JSON.stringify(Array(64).fill(0.5)))'; }
infer="{\"model_name\":\"mlp\",\"id\":\"seven\",\"inputs\":[{\"name\":\"input\",\"datatype\":\"FP32\",\"shape\":[1,64],\"contents\":{\"fp32_contents\":$(row)}}]}"
service=inference.GRPCInferenceService
for address in "$grpc" "$http"; do
  curl_grpc() { "$cache/bin/grpcurl" -plaintext "$@"; }
  expect list "^$service\$" curl_grpc "$address" list
  expect 'list of v1alpha' '^grpc.reflection.v1alpha.ServerReflection$' curl_grpc "$address" list
  expect 'list of methods' "^$service.ModelInfer\$" curl_grpc "$address" list "$service"
  expect 'list of management' '^millrace.v1.Management.ListContexts$' curl_grpc "$address" list millrace.v1.Management
  expect 'list of StreamInfer' '^inference.v1.InferenceService.StreamInfer$' curl_grpc "$address" list inference.v1.InferenceService
  expect 'describe StreamInfer' 'uint32 sequence = 2' curl_grpc "$address" describe inference.v1.InferRequest
  expect 'list of PredictStream' '^realtime.inference.InferenceService.PredictStream$' \
    curl_grpc "$address" list realtime.inference.InferenceService
  expect 'describe Predict' 'map<string, string> metadata = 4' curl_grpc "$address" describe realtime.inference.InferenceRequest
  expect Predict '"resultJson": "\{' \
    curl_grpc -d "{\"context_id\":\"mlp\",\"payload\":\"$(head -c 256 /dev/zero | base64 -w0)\"}" "$address" realtime.inference.InferenceService/Predict
  expect contexts '"model": "mlp"' curl_grpc "$address" millrace.v1.Management/ListContexts
  expect 'describe a service' 'rpc ModelInfer' curl_grpc "$address" describe "$service"
  expect 'describe a message' 'repeated bytes raw_input_contents = 7' curl_grpc "$address" describe inference.ModelInferRequest
  expect 'describe a map' 'map<string, .grpc.health.v1.HealthCheckResponse> statuses = 1' \
    curl_grpc "$address" describe grpc.health.v1.HealthListResponse
  expect ServerLive '"live": true' curl_grpc "$address" "$service/ServerLive"
  expect ServerReady '"ready": true' curl_grpc "$address" "$service/ServerReady"
  expect ServerMetadata '"name": "millrace"' curl_grpc "$address" "$service/ServerMetadata"
  expect ModelReady '"ready": true' curl_grpc -d '{"name":"mlp"}' "$address" "$service/ModelReady"
  expect ModelMetadata '"platform": "onnxruntime_onnx"' curl_grpc -d '{"name":"mlp"}' "$address" "$service/ModelMetadata"
  expect ModelConfig '"maxBatchSize": 64' curl_grpc -d '{"name":"mlp"}' "$address" "$service/ModelConfig"
  expect ModelInfer '"id": "seven"' curl_grpc -d "$infer" "$address" "$service/ModelInfer"
  expect 'a rich error' '"reason": "UNKNOWN_MODEL"' curl_grpc -d '{"model_name":"nobody"}' "$address" "$service/ModelInfer"
  expect 'health check' 'SERVING' curl_grpc "$address" grpc.health.v1.Health/Check
  expect 'health check of a model' 'SERVING' curl_grpc -d '{"service":"mlp"}' "$address" grpc.health.v1.Health/Check
  expect 'health check of nobody' 'NotFound' curl_grpc -d '{"service":"nobody"}' "$address" grpc.health.v1.Health/Check
  expect 'health list' '"mlp": \{' curl_grpc "$address" grpc.health.v1.Health/List
  expect 'health watch' 'SERVING' curl_grpc -max-time 1 "$address" grpc.health.v1.Health/Watch
done

expect 'ghz by reflection' '\[OK\] +2000 responses' \
  "$cache/bin/ghz" --insecure --call "$service.ModelInfer" -d "$infer" -n 2000 -c 20 "$grpc"
expect 'ghz with the file' '\[OK\] +1000 responses' \
  "$cache/bin/ghz" --insecure --import-paths proto --proto proto/inference/grpc_service.proto --call "$service.ServerReady" -n 1000 -c 10 "$http"

json='content-type: application/json'
printf '\0\0\0\0\0' >"$work/empty"
for version in --http1.1 --http2-prior-knowledge; do
  expect "Connect by curl $version" '\{"ready":true\}' \
    curl -s "$version" -H "$json" -d '{"name":"mlp"}' "http://$http/$service/ModelReady"
  expect "Connect by GET $version" '\{"live":true\}' \
    curl -s "$version" "http://$http/$service/ServerLive?connect=v1&encoding=json&message=%7B%7D"
  expect "an error of Connect $version" '"code":"not_found"' \
    curl -s "$version" -H "$json" -d '{"model_name":"nobody"}' "http://$http/$service/ModelInfer"
  expect "gRPC-Web by curl $version" 'grpc-status: 0' \
    bash -c "curl -s $version -H 'content-type: application/grpc-web+proto' --data-binary @$work/empty http://$http/$service/ServerLive | tr -d '\\000'"
  expect "REST beside it $version" '"name":"millrace"' curl -s "$version" "http://$http/v2"
done
expect 'gRPC by curl' 'grpc-status: 0' \
  curl -sv --http2-prior-knowledge -H 'content-type: application/grpc' -H 'te: trailers' --data-binary "@$work/empty" "http://$grpc/$service/ServerLive" --output "$work/grpc"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
