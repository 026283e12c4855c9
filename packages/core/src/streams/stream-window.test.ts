import { describe, expect, test } from 'vitest';
import { StreamWindow, type WindowEntry } from './stream-window.ts';

const limits = { requestsMax: 3, slotWaitRequestsMax: 5, slotWaitBytesMax: 100 };
const made = (): StreamWindow<string> => new StreamWindow<string>(limits);
const out = (output: string, bytes = 1) => ({ output, bytes });
const taken = (window: StreamWindow<string>): readonly string[] => {
  const outputs: string[] = [];
  for (let next = window.takeNext(); next !== undefined; next = window.takeNext()) outputs.push(next.output);
  return outputs;
};

describe('requests with one answer', () => {
  test('leave in the order of the requests', () => {
    const window = made();
    const [a, b, c] = [window.add(), window.add(), window.add()];
    expect([window.settle(c, out('c')), window.settle(b, out('b'))]).toEqual([true, true]);
    expect(taken(window)).toEqual([]);
    window.settle(a, out('a'));
    expect(taken(window)).toEqual(['a', 'b', 'c']);
    expect(window.isEmpty).toBe(true);
    expect(window.settle(a, out('again'))).toBe(false);
  });

  test('pause the caller when too many run, or too many are not taken', () => {
    const window = made();
    const entries = [window.add(), window.add()];
    expect(window.isFull(true)).toBe(false);
    entries.push(window.add());
    expect(window.isFull(true)).toBe(true);
    for (const entry of entries) window.settle(entry, out('x'));
    expect(window.isFull(true)).toBe(true);
    expect(taken(window)).toHaveLength(3);
    expect(window.isFull(false)).toBe(false);
  });
});

describe('requests with several answers', () => {
  test('are not held up by earlier requests, and keep their own order', () => {
    const window = made();
    const [slow, many] = [window.add(), window.add()];
    window.put(many, out('1'));
    window.put(many, out('2'));
    expect(taken(window)).toEqual(['1', '2']);
    window.put(many, out('3'));
    window.settle(many, out('end', 0));
    expect(taken(window)).toEqual(['3', 'end']);
    expect(window.isEmpty).toBe(false);
    window.settle(slow, out('slow'));
    expect(taken(window)).toEqual(['slow']);
    expect(window.isEmpty).toBe(true);
  });

  test('without any answer, or without a last output', () => {
    const window = made();
    const [none, silent, last] = [window.add(), window.add(), window.add()];
    window.settle(none, out('end', 0));
    window.put(silent, out('1'));
    window.settle(silent, undefined);
    window.settle(last, out('last'));
    expect(taken(window)).toEqual(['end', '1', 'last']);
    expect(window.isEmpty).toBe(true);
    expect(window.put(silent, out('late'))).toBe(false);
  });

  test('random streams: each request keeps its order, plain ones keep that of the requests, nothing is lost or doubled', () => {
    let state = 7;
    const random = (below: number): number => {
      state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
      return state % below;
    };
    for (let round = 0; round < 300; round++) {
      const window = new StreamWindow<string>({ ...limits, requestsMax: 1000 });
      const open: { entry: WindowEntry<string>; id: number; parts: number; isMany: boolean }[] = [];
      const expected: string[] = [];
      const seen: string[] = [];
      let requests = 0;
      for (let step = 0; step < 60; step++) {
        const choice = random(4);
        if (choice === 0) open.push({ entry: window.add(), id: requests++, parts: 0, isMany: random(2) === 0 });
        else if (choice === 3)
          seen.push(...(random(2) === 0 ? taken(window) : [window.takeNext()?.output ?? []].flat()));
        else if (open.length > 0) {
          const at = random(open.length);
          const one = open[at] as (typeof open)[number];
          one.parts += 1;
          expected.push(`${one.id}.${one.parts}`);
          if (one.isMany && choice === 1) window.put(one.entry, out(`${one.id}.${one.parts}`));
          else window.settle(open.splice(at, 1)[0]?.entry as WindowEntry<string>, out(`${one.id}.${one.parts}`));
        }
      }
      for (const one of open.splice(0)) {
        one.parts += 1;
        expected.push(`${one.id}.${one.parts}`);
        window.settle(one.entry, out(`${one.id}.${one.parts}`));
      }
      seen.push(...taken(window));
      expect(window.isEmpty).toBe(true);
      expect([...seen].sort()).toEqual([...expected].sort());
      const byRequest = new Map<string, string[]>();
      for (const name of seen) {
        const id = name.split('.')[0] as string;
        byRequest.set(id, [...(byRequest.get(id) ?? []), name]);
      }
      for (const parts of byRequest.values()) {
        expect(parts.map((name) => Number(name.split('.')[1]))).toEqual(parts.map((_, index) => index + 1));
      }
    }
  });
});

test('while a sequence waits for a slot more requests may arrive, up to separate limits', () => {
  const window = made();
  const waiting = window.add();
  window.noteSlotWait(waiting);
  const others = [window.add(), window.add()];
  for (const entry of others) window.settle(entry, out('x', 10));
  window.add();
  expect([window.isFull(true), window.isFull(false), window.isStuck]).toEqual([false, true, false]);
  window.settle(window.add(), out('large', 80));
  expect(window.isStuck).toBe(true);
  expect(window.slotWaits()).toEqual([waiting]);
  window.settle(waiting, out('refused', 0));
  expect([window.isStuck, window.slotWaits()]).toEqual([false, []]);
});

test('what is left is returned', () => {
  const window = made();
  const entry = window.add();
  window.put(entry, out('1'));
  expect(window.takeAll().flatMap(({ outputs }) => outputs.map(({ output }) => output))).toEqual(['1']);
  expect([window.isEmpty, window.takeNext()]).toEqual([true, undefined]);
});
