/** An ONNX graph, run by ONNX Runtime. */
import type { ModelKind } from '../model-kind.ts';
import { refuseSeveralAnswers } from '../refuse-several-answers.ts';
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
  parameters: [
    'millrace.lane',
    'millrace.batch',
    'millrace.worker_group',
    'millrace.run_ms_max',
    'millrace.queue_requests_max',
    'millrace.queue_bytes_max',
    'millrace.wait_ms_max',
    'millrace.latency_target_ms',
    'millrace.weight',
    'millrace.threads',
    'millrace.gpu_batch_sizes',
    'millrace.pad_ratio_max',
    'millrace.cache_shared',
    'millrace.share_worker',
    'millrace.warm_spare',
    'millrace.stream_states',
    'millrace.spinning',
    'millrace.sequence_backlog_max',
    'millrace.sequence_slot_wait_ms_max',
    'millrace.sequence_state_bytes_max',
  ],
  foreignParameterText: 'does not apply to a graph; remove it',
  checkHead: refuseSeveralAnswers,
  readVersion: readOnnxVersion,
};
