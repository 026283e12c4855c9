import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { StreamLogView } from '../journal.ts';
import { killPoints, loopEntry, loopPhases, loopSnapshot, loopStreams } from '../testing/journal-entries.ts';
import { openLmdbJournal } from './lmdb-journal.ts';

const program = fileURLToPath(new URL('../../dist/testing/journal-loop.js', import.meta.url));
const isLong = process.env.TEST_LONG === '1';
const randomRounds = isLong ? 10 : 2;
/** What is written reaches the journal in the same order in both; they differ in when the disk is told to keep it. */
const durabilities = isLong ? (['process', 'power'] as const) : (['process'] as const);

beforeAll(() => {
  if (!existsSync(program)) throw new Error(`${program} is missing: run \`npm run build\` first`);
});

/** What is known of a log: acknowledged, and at most one step further that was under way. */
class Known {
  #isThere: boolean = false;
  #epoch = 0;
  #last = 0;
  #base = 0;
  /** The step that was announced and not acknowledged. */
  #next: { readonly verb: string; readonly value: number } | undefined;

  hear(verb: string, value: number): void {
    this.#next = undefined;
    if (verb === 'took') {
      this.#isThere = true;
      this.#epoch = value;
    } else if (verb === 'appended') this.#last = value;
    else if (verb === 'trimmed') this.#base = value;
    else if (verb === 'removed') {
      this.#isThere = false;
      [this.#last, this.#base] = [0, 0];
    }
  }

  announce(verb: string, value: number): void {
    this.#next = { verb, value };
  }

  check(stream: string, view: StreamLogView | undefined): void {
    const { verb, value = 0 } = this.#next ?? {};
    if (view === undefined) {
      if (this.#isThere) expect(verb).toBe('remove');
      // Also where nobody heard of it: the next process takes a log that is empty.
      this.hear('removed', 0);
      return;
    }
    if (!this.#isThere) expect(verb).toBe('take');
    if (verb === 'take') expect(view.epoch).toBeGreaterThanOrEqual(this.#epoch);
    else expect(view.epoch).toBe(this.#epoch);
    expect(verb === 'trim' ? [this.#base, value] : [this.#base]).toContain(view.base);
    const found = view.base + view.entries.length;
    expect(found).toBeGreaterThanOrEqual(this.#last);
    expect(found).toBeLessThanOrEqual(verb === 'append' ? value : this.#last);
    expect(view.last).toBe(found);
    const expected = view.entries.map((_, index) => loopEntry(stream, view.base + index + 1));
    expect(Buffer.compare(Buffer.concat(view.entries), Buffer.concat(expected)), `${stream} is whole`).toBe(0);
    const snapshot = view.base === 0 ? [] : loopSnapshot(stream, view.base);
    expect(Buffer.compare(Buffer.concat(view.snapshot), Buffer.concat(snapshot)), `${stream} has its snapshot`).toBe(0);
    // The next process begins with what this one found.
    [this.#isThere, this.#epoch, this.#last, this.#base] = [true, view.epoch, found, view.base];
    this.#next = undefined;
  }
}

describe.each(durabilities)('%s', (durability) => {
  const path = mkdtempSync(join(tmpdir(), 'millrace-journal-kill-'));
  afterAll(() => rmSync(path, { recursive: true, force: true }));
  const known = new Map(loopStreams.map((stream) => [stream, new Known()]));

  /** Runs the loop until it has killed itself, or has acknowledged that many steps; then compares. */
  async function runUntilKilled(fatal: readonly string[], stepsMax = Number.POSITIVE_INFINITY): Promise<number> {
    const child = spawn(process.execPath, [program, path, durability, ...fatal], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const exit = new Promise<NodeJS.Signals | null>((resolve) => child.once('exit', (_, signal) => resolve(signal)));
    let acknowledged = 0;
    for await (const line of createInterface({ input: child.stdout })) {
      const words = line.split(' ');
      const isPlan = words[0] === 'will';
      const [verb, stream, value] = isPlan ? words.slice(1) : words;
      const log = known.get(stream ?? '');
      if (isPlan) log?.announce(verb as string, Number(value));
      else log?.hear(verb as string, Number(value));
      if (!isPlan) acknowledged += 1;
      if (acknowledged === stepsMax) child.kill('SIGKILL');
    }
    expect(await exit).toBe('SIGKILL');
    const journal = await openLmdbJournal({ path, durability });
    for (const [stream, log] of known) log.check(stream, await journal.peek(stream));
    await journal.close();
    return acknowledged;
  }

  test.each(loopPhases.flatMap((phase) => killPoints.map((point) => [phase, point] as const)))(
    'killed at %s, %s the transaction: what was acknowledged is there, and nothing is torn',
    { timeout: 120_000 },
    async (phase, point) => {
      expect(await runUntilKilled([phase, point])).toBeGreaterThan(3);
    },
  );

  test(`killed ${randomRounds} times at any moment`, { timeout: 240_000 }, async () => {
    for (let round = 0; round < randomRounds; round++) await runUntilKilled([], 5 + ((round * 37) % 97));
  });
});
