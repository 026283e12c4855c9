import { Cancellation, neverCancelled } from '@millrace/protocol';
import { expect, test } from 'vitest';
import { CallerGone } from '../exchange.ts';
import { TurnGate } from './turn-gate.ts';

test('a gate runs a limited number at once, and the next owner in turn when one ends', async () => {
  const gate = new TurnGate(1);
  const order: string[] = [];
  const leave: (() => void)[] = [];
  const enter = (owner: string, name: string): Promise<void> =>
    gate.pass(owner, neverCancelled, () => {
      order.push(name);
      return new Promise((resolve) => leave.push(resolve));
    });
  const names = ['a1', 'a2', 'a3', 'b1'];
  const all = names.map((name) => enter(name.slice(0, 1), name));
  expect([gate.inside, gate.waiting]).toEqual([1, 3]);
  for (let turn = 0; turn < names.length; turn += 1) {
    leave[turn]?.();
    await all[names.indexOf(order[turn] as string)];
  }
  expect(order).toEqual(['a1', 'a2', 'b1', 'a3']);
  expect([gate.inside, gate.waiting]).toEqual([0, 0]);
});

test('a caller that leaves while it waits gets no turn', async () => {
  const gate = new TurnGate(1);
  const caller = new Cancellation();
  let leave = (): void => {};
  const inside = gate.pass('a', neverCancelled, () => new Promise<void>((resolve) => (leave = resolve)));
  const waiting = gate.pass('a', caller, () => expect.unreachable());
  caller.cancel('cancelled');
  await expect(waiting).rejects.toBeInstanceOf(CallerGone);
  leave();
  await inside;
  expect([gate.inside, gate.waiting]).toEqual([0, 0]);
});
