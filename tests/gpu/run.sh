#!/usr/bin/env bash
# Serves a model of ResNet-50's shape on CUDA and holds its answers to those of the CPU. For a machine with an NVIDIA
# GPU, its driver, and the CUDA and cuDNN libraries that the engine's CUDA part was built for on LD_LIBRARY_PATH.
#
#   npm ci && npm run build
#   bash tests/gpu/run.sh [FOLDER WITH libonnxruntime_providers_*.so]
#
# The engine's npm package carries its CPU part only. The parts for CUDA and TensorRT must have the version of
# onnxruntime-node. Without a folder they are fetched by the package's own script, which needs a network.
set -euo pipefail
cd "$(dirname "$0")/../.."

libraries=$(echo node_modules/onnxruntime-node/bin/napi-v*/linux/x64)
if [ $# -ge 1 ]; then
  cp "$1"/libonnxruntime_providers_*.so "$libraries/"
elif [ ! -e "$libraries/libonnxruntime_providers_cuda.so" ]; then
  (cd node_modules/onnxruntime-node && npm_config_onnxruntime_node_install=cuda12 node script/install.js)
fi
ls -l "$libraries"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m zoo.big_shapes.make resnet50 "$work/made"
for device in gpu cpu; do
  mkdir -p "$work/models/on_$device"
  cp -r "$work/made/resnet50/1" "$work/models/on_$device/1"
  printf 'max_batch_size: 32\ninstance_group { name: "%s" kind: KIND_%s count: 1 }\n' "$device" "${device^^}" \
    >"$work/models/on_$device/config.pbtxt"
done
node packages/millrace/bin/millrace.js models "$work/models"
node tests/dist/gpu/compare-devices.js "$work/models"
