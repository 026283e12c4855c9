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

test('a version whose files were replaced after it was loaded has no digest that a later process could find', async () => {
  const model = servedModel([], [], { name: 'counter' });
  const replaced = servedModel([], [], { name: 'counter', version: '2' });
  let reads = 0;
  model.source = { path: '/models/counter/1', isUnchanged: async () => true };
  replaced.source = { path: '/models/counter/2', isUnchanged: async () => false };
  const models = new LiveStreamModels({
    inference: { resolved: (request) => request },
    models: { takeModel: () => replaced, takeServed: () => undefined, onChange: () => () => {}, mustKnow: () => model },
    exactness: { of: async () => undefined },
    digestOf: async () => {
      reads += 1;
      return 'what is there now';
    },
  });
  expect((await models.pin('counter', () => {})).digest).toBe('what is there now');
  expect((await models.pinAgain('counter', '2', () => {}))?.digest).toBe('replaced');
  // The files of a revision are read once.
  expect((await models.pin('counter', () => {})).digest).toBe('what is there now');
  expect(reads).toBe(2);
});

test('streams that look for a revision at the same time read its files once; after a failure they are read again', async () => {
  const model = servedModel([], [], { name: 'counter' });
  model.source = { path: '/models/counter/1', isUnchanged: async () => true };
  let reads = 0;
  let isReadable: boolean = false;
  const models = new LiveStreamModels({
    inference: { resolved: (request) => request },
    models: { takeModel: () => model, takeServed: () => undefined, onChange: () => () => {}, mustKnow: () => model },
    exactness: { of: async () => undefined },
    digestOf: async () => {
      reads += 1;
      if (!isReadable) throw new Error('no such file');
      return 'files';
    },
  });
  const find = () => Promise.allSettled([1, 2, 3].map(() => models.pinAgain('counter', '1', () => {})));
  expect((await find()).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
  expect([reads, model.streams.count]).toEqual([1, 0]);
  isReadable = true;
  expect((await find()).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'fulfilled']);
  expect([reads, model.streams.count]).toEqual([2, 3]);
});
