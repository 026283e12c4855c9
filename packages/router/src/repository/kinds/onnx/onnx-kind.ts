/** An ONNX graph, run by ONNX Runtime. */
import type { ModelKind } from '../model-kind.ts';
import { refusePipelineSettings } from '../refuse-pipeline-settings.ts';
import { onnxBackendName, onnxPlatformName } from './complete-config.ts';
import { readOnnxVersion } from './read-onnx-version.ts';

export const onnxKind: ModelKind = {
  name: 'ONNX model',
  platform: onnxPlatformName,
  backend: onnxBackendName,
  engine: 'onnxruntime',
  lane: undefined,
  instances: 'on-cpu-or-gpu',
  needsVersionFolder: true,
  runsCode: false,
  checkHead: refusePipelineSettings,
  readVersion: readOnnxVersion,
};
