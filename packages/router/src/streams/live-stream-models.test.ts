import { InferenceError } from '@millrace/protocol';
import { expect, test } from 'vitest';
import { servedModel } from '../data-plane/testing/models.ts';
import { LiveStreamModels, type LiveStreamModelsParts } from './live-stream-models.ts';

function modelsThat(refusal: InferenceError): LiveStreamModels {
  const parts: LiveStreamModelsParts = {
    inference: {
      resolved: (request) => request,
    },
    models: {
      takeModel: () => undefined,
      mustKnow: () => {
        throw refusal;
      },
    },
    digestOf: async () => '',
  };
  return new LiveStreamModels(parts);
}

test('a version that is gone is not there for its streams any more', async () => {
  const models = modelsThat(new InferenceError('unknown-model', 'no such version'));
  expect(await models.pinAgain('counter', '1', () => {})).toBeUndefined();
});

test('a version whose files cannot be read now is refused, and not taken for gone', async () => {
  const models = modelsThat(new InferenceError('model-not-ready', 'its files cannot be read'));
  await expect(models.pinAgain('counter', '1', () => {})).rejects.toMatchObject({ code: 'model-not-ready' });
});

test('a version whose files were replaced after it was loaded has no digest that a later process could find', async () => {
  const model = servedModel([], [], { name: 'counter' });
  const files = { isUnchanged: true };
  model.source = { path: '/models/counter/1', isUnchanged: async () => files.isUnchanged };
  const models = new LiveStreamModels({
    inference: { resolved: (request) => request },
    models: { takeModel: () => model, mustKnow: () => model },
    digestOf: async () => 'digest of what is there now',
  });
  expect((await models.pin('counter', () => {})).digest).toBe('digest of what is there now');
  files.isUnchanged = false;
  expect((await models.pin('counter', () => {})).digest).toBe('replaced');
});
