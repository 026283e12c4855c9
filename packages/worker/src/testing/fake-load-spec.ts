import type { LoadSpec } from '@millrace/protocol';

/** A model for engines that read no file. */
export const fakeLoadSpec: LoadSpec = {
  model: 1,
  name: 'fake',
  version: '1',
  engine: 'onnxruntime',
  path: '',
  inputs: [],
  outputs: [],
  isBatched: true,
  threads: 1,
  isSpinning: false,
};
