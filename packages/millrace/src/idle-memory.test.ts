import { expect, test } from 'vitest';
import { grownBytesMin, IdleMemory, type IdleProcess, idleCheckMs, idleChecksMin } from './idle-memory.ts';

/** A process whose time passes when the test says so. */
class HeldProcess implements IdleProcess {
  readonly done: string[] = [];
  bytes = 0;
  collectMs = 10;
  #nowMs = 0;
  #busyMs = 0;
  readonly #memory = new IdleMemory(this);

  now(): number {
    return this.#nowMs;
  }

  busyMs(): number {
    return this.#busyMs;
  }

  residentBytes(): number {
    return this.bytes;
  }

  collect(generations: 'all' | 'young'): void {
    this.done.push(generations);
    if (generations === 'young') return;
    this.#nowMs += this.collectMs;
    this.#busyMs += this.collectMs;
  }

  trim(): void {
    this.done.push('trim');
  }

  /** The next look, after the process was busy for this part of the time; what was done then. */
  look(utilization: number): readonly string[] {
    this.done.length = 0;
    this.#nowMs += idleCheckMs;
    this.#busyMs += utilization * idleCheckMs;
    this.#memory.look();
    return [...this.done];
  }

  /** Idle for so long that the next idle look collects; nothing was done until then. */
  idleUntilCollection(): void {
    for (let looks = 1; looks < idleChecksMin; looks++) expect(this.look(0)).toEqual([]);
  }
}

test('an idle process whose memory has grown collects, and gives back at the next two looks', () => {
  const held = new HeldProcess();
  held.bytes = grownBytesMin;
  expect(held.look(0.5)).toEqual([]);
  held.idleUntilCollection();
  expect(held.look(0.01)).toEqual(['all']);
  expect(held.look(0.01)).toEqual(['young', 'trim']);
  expect(held.look(0.01)).toEqual(['young', 'trim']);
  expect(held.look(0)).toEqual([]);
  held.bytes += grownBytesMin - 1;
  expect(held.look(0)).toEqual([]);
  held.bytes += 1;
  expect(held.look(0)).toEqual(['all']);
});

test('a pause of less than a minute is not for a collection, which costs optimized code', () => {
  const held = new HeldProcess();
  held.bytes = grownBytesMin;
  held.idleUntilCollection();
  expect(held.look(0.06)).toEqual([]);
  held.idleUntilCollection();
  expect(held.look(0)).toEqual(['all']);
  expect(idleChecksMin * idleCheckMs).toBe(60_000);
});

test('a process that became busy again gives nothing back before it is idle', () => {
  const held = new HeldProcess();
  held.bytes = grownBytesMin;
  held.idleUntilCollection();
  expect(held.look(0)).toEqual(['all']);
  expect(held.look(0.06)).toEqual([]);
  held.idleUntilCollection();
  expect(held.look(0)).toEqual(['all']);
  expect(held.look(0)).toEqual(['young', 'trim']);
});

test('collections take at most a hundredth of the time', () => {
  const held = new HeldProcess();
  held.bytes = grownBytesMin;
  held.collectMs = 300;
  held.idleUntilCollection();
  expect(held.look(0)).toEqual(['all']);
  expect(held.look(0)).toEqual(['young', 'trim']);
  expect(held.look(0)).toEqual(['young', 'trim']);
  held.bytes += grownBytesMin;
  expect([held.look(0), held.look(0), held.look(0)]).toEqual([[], [], []]);
  expect(held.look(0)).toEqual(['all']);
});
