import { type MetadataStore, openMemoryStore } from '@millrace/store';
import { expect, test } from 'vitest';
import { OverrideFiles } from './override-files.ts';
import { RequestedLoads } from './requested-loads.ts';
import { SavedLoads } from './saved-loads.ts';

function loadsIn(store: MetadataStore): RequestedLoads {
  return new RequestedLoads(new SavedLoads(store), new OverrideFiles({}));
}

test('a process that takes the place of another does not load what that one unloaded by request', async () => {
  const store = await openMemoryStore();
  const first = loadsIn(store);
  expect([...(await first.restore(['a', 'b'], false)).keys()]).toEqual(['a', 'b']);
  await first.forget('b');
  await first.noteUnloaded('b', ['1', '2']);
  await first.noteLoaded('c', {}, true);
  const second = loadsIn(store);
  expect([...(await second.restore(['a', 'b'], true)).keys()]).toEqual(['c', 'a']);
  expect([...second.unloaded]).toEqual([['b', ['1', '2']]]);

  await second.noteLoaded('b', {}, true);
  const third = loadsIn(store);
  expect([...(await third.restore(['a', 'b'], true)).keys()]).toEqual(['b', 'c', 'a']);
  expect([...third.unloaded]).toEqual([]);
});

test('a server that is started anew loads what its configuration names, also what was unloaded before', async () => {
  const store = await openMemoryStore();
  const first = loadsIn(store);
  await first.restore(['a'], false);
  await first.forget('a');
  await first.noteUnloaded('a', ['1']);
  const anew = loadsIn(store);
  expect([...(await anew.restore(['a'], false)).keys()]).toEqual(['a']);
  expect([...anew.unloaded]).toEqual([]);
  expect(await store.list('unloads/')).toEqual([]);
});
