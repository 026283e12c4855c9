import { neverCancelled } from '@millrace/protocol';
import { expect, test } from 'vitest';
import type { ModelDefinition } from '../../model/model-definition.ts';
import { serveTestModel, testConfig } from '../../repository/testing/test-model.ts';
import { ScriptedLibrary } from '../testing/scripted-library.ts';

const { definition } = await serveTestModel({});

function renamed(model: ModelDefinition, name: string): ModelDefinition {
  const versions = model.versions.map((version) => ({ ...version, view: { ...version.view, name } }));
  return { ...model, name, versions };
}

test('a model that is read again without changes is not reloaded', async () => {
  const library = new ScriptedLibrary();
  library.read(definition, 'old');
  await library.loads();
  library.read(definition, 'old');
  expect(library.lane.links).toHaveLength(1);
  expect(library.states()).toEqual(['m:1 ready']);
});

test('a model that is removed while it loads, and put back unchanged, is loaded again', async () => {
  const library = new ScriptedLibrary();
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
  await library.loads();
  expect(library.states()).toEqual(['m:1 ready']);
});

test('a model with a warm spare is loaded by one worker more, and stays ready when one dies', async () => {
  const library = new ScriptedLibrary();
  const spare = 'parameters { key: "millrace.warm_spare" value { string_value: "1" } }';
  const { definition: spared } = await serveTestModel({ config: `${testConfig} ${spare}` });
  library.read(spared, 'files');
  const [first, second] = library.lane.links;
  expect(library.lane.links).toHaveLength(2);
  await library.loads(first);
  await library.loads(second);
  expect(library.states()).toEqual(['m:1 ready']);
  first?.dies('killed');
  await library.settle();
  expect(library.states()).toEqual(['m:1 ready']);
  library.clock.advance(0);
  expect(library.lane.links).toHaveLength(3);
});

test('versions that streams wait for are loaded before others', async () => {
  const library = new ScriptedLibrary({ loadsMax: 4 });
  for (const name of ['a', 'b']) library.put(renamed(definition, name), 'files');
  library.contents.apply(new Set(['b:1']));
  expect(library.lane.links).toHaveLength(1);
  await library.loads();
  expect(library.states()).toEqual(['a:1 loading: the model is loading', 'b:1 ready']);
  expect(library.lane.links).toHaveLength(2);
});

test('a failed replacement is reported in the status of the served version until another one loads', async () => {
  const library = new ScriptedLibrary();
  library.read(definition, 'old');
  await library.loads();
  library.read(definition, 'new');
  const doomed = library.lane.last;
  await library.settle();
  doomed.says({ kind: 'load-failed', model: 2, message: 'no such operator' });
  doomed.dies('the worker was stopped');
  await library.settle();
  const [status] = library.models.statuses();
  expect(status).toMatchObject({ state: 'ready', reason: '', replacementReason: 'no such operator' });

  library.read(definition, 'newer');
  await library.loads();
  await library.settle();
  expect(library.models.statuses()).toEqual([{ name: 'm', version: '1', state: 'ready', reason: '' }]);
});

test('a key is reused only once nothing of its revision is left', async () => {
  const library = new ScriptedLibrary();
  const keys: string[] = [];
  for (let round = 1; round <= 6; round++) {
    library.read(definition, `files ${round}`);
    await library.loads();
    keys.push(library.models.takeServed('m', '')?.key ?? 'none');
    // What it replaces has drained by now, and its worker ends.
    await library.settle();
    for (const link of library.lane.links.slice(0, -1)) if (!link.isGone) link.dies('the worker was stopped');
    await library.settle();
  }
  expect(keys).toEqual(['m:1', 'm:1#2', 'm:1', 'm:1#4', 'm:1', 'm:1#6']);
});

test('a failed load is retried, except for a model that does not fit its configuration', async () => {
  const library = new ScriptedLibrary({}, true);
  library.read(definition, 'old');
  await library.settle();
  library.lane.last.says({ kind: 'load-failed', model: 1, message: 'out of memory' });
  library.lane.last.dies('the worker was stopped');
  await library.settle();
  library.clock.advance(1000);
  expect(library.lane.links).toHaveLength(2);
  await library.settle();
  library.lane.last.says({ kind: 'load-failed', model: 1, message: 'no input "x"', isFinal: true });
  library.lane.last.dies('the worker was stopped');
  await library.settle();
  library.clock.advance(24 * 3600 * 1000);
  expect(library.lane.links).toHaveLength(2);
  expect(library.states()).toEqual(['m:1 failed: no input "x"']);

  library.read(definition, 'mended');
  expect(library.lane.links).toHaveLength(3);
  await library.loads();
  expect(library.states()).toEqual(['m:1 ready']);
});

test('a request for a model that is not in memory is refused while the server shuts down', async () => {
  const library = new ScriptedLibrary();
  library.loader.tell({ kind: 'budget', bytesMax: 1 });
  library.read(definition, 'old');
  expect(library.states()).toEqual([expect.stringContaining('m:1 evicted')]);
  const model = library.models.mustKnow('m', '1');
  library.loader.close();
  library.loader.demand.close();
  const late = library.loader.demand.bringBack(model, Number.POSITIVE_INFINITY, neverCancelled);
  await expect(late).rejects.toMatchObject({ code: 'draining' });
});

test('streams that hold a version hear that it was replaced while it was not in memory', async () => {
  const library = new ScriptedLibrary();
  library.loader.tell({ kind: 'budget', bytesMax: 1 });
  library.read(definition, 'old');
  let isRetired = false;
  library.models.mustKnow('m', '1').streams.hold(() => {
    isRetired = true;
  });
  library.read(definition, 'new');
  await library.settle();
  expect(isRetired).toBe(true);
});

/** Has the model of a library evicted, and asks for it; `filesNow` are there by then. What becomes of the request is the result. */
async function evictedAndAsked(
  library: ScriptedLibrary,
  filesNow: string,
): Promise<{ readonly answer: Promise<string> }> {
  library.read(definition, 'old');
  await library.loads();
  library.loader.tell({ kind: 'budget', bytesMax: 1 });
  await library.settle();
  library.lane.last.dies('the worker was stopped');
  await library.settle();
  expect(library.states()).toEqual([expect.stringContaining('m:1 evicted')]);
  library.loader.tell({ kind: 'budget', bytesMax: Number.POSITIVE_INFINITY });
  library.filesNow.set('m', filesNow);
  const model = library.models.mustKnow('m', '1');
  const answer = library.loader.demand.bringBack(model, Number.POSITIVE_INFINITY, neverCancelled).then(
    () => 'served',
    ({ code, message }: { code: string; message: string }) => `${code}: ${message}`,
  );
  await library.settle();
  return { answer };
}

test('an evicted model whose files have changed is not loaded again, and its new files are loaded as ever', async () => {
  const library = new ScriptedLibrary();
  const { answer } = await evictedAndAsked(library, 'new');
  expect(await answer).toMatch(/^model-not-ready: .*files of m:1 have changed since they were read/);
  const last = library.lane.last;
  expect(last.sent).toEqual([]);
  expect(library.states()).toEqual([expect.stringContaining('m:1 failed: the files of m:1 have changed')]);
  last.dies('the worker was stopped');
  await library.settle();

  library.read(definition, 'new');
  await library.loads();
  expect(library.states()).toEqual(['m:1 ready']);
});

test('an evicted model whose files change while it is loaded again is unloaded, and loaded when they are back', async () => {
  const library = new ScriptedLibrary();
  const { answer } = await evictedAndAsked(library, 'old');
  const again = library.lane.last;
  expect(again.sent).toMatchObject([{ kind: 'load' }]);
  library.filesNow.set('m', 'new');
  again.loads();
  expect(await answer).toMatch(/^model-not-ready/);
  expect(again.sent).toMatchObject([{ kind: 'load' }, { kind: 'unload', model: 1 }]);
  again.dies('the worker was stopped');
  library.filesNow.delete('m');
  await library.settle();
  library.clock.advance(1000);
  await library.loads();
  expect(library.states()).toEqual(['m:1 ready']);
});
