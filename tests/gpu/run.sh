#!/usr/bin/env bash
# Serves a model of ResNet-50's shape on CUDA: holds its answers to those of the CPU, kills its workers, asks for GPUs
# that are not there, and prints how many images a second it takes. For a machine with an NVIDIA GPU, its driver, and the
# CUDA and cuDNN libraries that the engine's CUDA part was built for on LD_LIBRARY_PATH; Python 3 with onnx makes the model.
#
#   npm ci && npm run build
#   bash tests/gpu/run.sh [FOLDER WITH libonnxruntime_providers_*.so]
#
# The engine's npm package carries its CPU part only. The parts for CUDA and TensorRT must have the version of
# onnxruntime-node. Without a folder they are fetched by the package's own script, which needs a network.
set -euo pipefail
export ORT_DISABLE_TELEMETRY=1
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
python3 -m zoo.big_shapes.make resnet50 "$work"
node tests/dist/gpu/main.js "$work/resnet50/1/model.onnx"
