import { expect, test } from 'vitest';
import { serveTestModel } from '../testing/test-model.ts';
import { LibraryOnStage } from './testing/library-on-stage.ts';

const { definition } = await serveTestModel({});

test('what is read anew and has not changed stays as it is', async () => {
  const library = new LibraryOnStage();
  library.read(definition, 'old');
  library.lane.last.loads();
  library.read(definition, 'old');
  expect(library.lane.links).toHaveLength(1);
  expect(library.states()).toEqual(['m:1 ready']);
});

test('a model that is taken away while it loads, and put back as it was, is loaded again', async () => {
  const library = new LibraryOnStage();
  library.read(definition, 'old');
  expect(library.states()).toEqual(['m:1 loading: the model is loading']);
  const first = library.lane.last;
  library.remove('m');
  expect(first.calls).toEqual(['stop']);
  // Its worker is still busy with the load.
  library.read(definition, 'old');
  first.dies('the worker was stopped');
  await library.settle();
  expect(library.lane.links).toHaveLength(2);
  library.lane.last.loads();
  expect(library.states()).toEqual(['m:1 ready']);
});
