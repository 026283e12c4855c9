/** Models for the tests of the data plane. */
import { type ModelPolicy, resolveModelPolicy } from '@millrace/core';
import type { TensorSpec } from '@millrace/protocol';
import type { ModelView } from '../../model/model-view.ts';
import { ServedModel } from '../served-model.ts';

export const testPolicy = resolveModelPolicy({
  rowsMax: 8,
  queueRequestsMax: 100,
  queueBytesMax: 1e6,
  runMsMax: 1000,
});

export function servedModel(
  inputs: readonly TensorSpec[],
  outputs: readonly TensorSpec[],
  overrides: Partial<ModelView> = {},
  policy: Partial<ModelPolicy> = {},
): ServedModel {
  const view: ModelView = {
    name: 'm',
    version: '1',
    platform: 'onnxruntime_onnx',
    inputs,
    outputs,
    isBatched: true,
    rowsMax: 8,
    labels: new Map(),
    takesTextOnly: true,
    config: {},
    ...overrides,
  };
  return new ServedModel(view, { ...testPolicy, rowsMax: view.rowsMax, ...policy }, 1);
}
