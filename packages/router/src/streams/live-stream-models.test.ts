import { InferenceError } from '@millrace/protocol';
import { expect, test } from 'vitest';
import { LiveStreamModels, type LiveStreamModelsParts } from './live-stream-models.ts';

function modelsThat(refusal: InferenceError): LiveStreamModels {
  const parts: LiveStreamModelsParts = {
    inference: {
      resolved: (request) => request,
    },
    models: {
      takeModel: () => undefined,
      takeServed: () => undefined,
      onChange: () => () => {},
      mustKnow: () => {
        throw refusal;
      },
    },
    digestOf: async () => '',
    exactness: { of: async () => undefined },
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
