import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { counterFrom, counterKeys, counterValue } from '../testing/counters.ts';
import { openLmdbStore } from './lmdb-store.ts';

const programAt = (name: string): string => fileURLToPath(new URL(`../../dist/testing/${name}.js`, import.meta.url));
const program = programAt('put-loop');
const rounds = process.env.TEST_LONG === '1' ? 30 : 3;

beforeAll(() => {
  if (!existsSync(program)) throw new Error(`${program} is missing: run \`npm run build\` first`);
});

interface Acknowledged {
  readonly count: number;
  readonly revision: number;
}

/** Starts the loop, kills it when it has acknowledged that many changes, and returns the last of each key. */
async function killAfter(folder: string, mode: string, changes: number): Promise<ReadonlyMap<string, Acknowledged>> {
  const child = spawn(process.execPath, [program, folder, mode], { stdio: ['ignore', 'pipe', 'inherit'] });
  const exit = new Promise<NodeJS.Signals | null>((resolve) => child.once('exit', (_, signal) => resolve(signal)));
  const last = new Map<string, Acknowledged>();
  let left = changes;
  for await (const line of createInterface({ input: child.stdout })) {
    if (line === 'open') continue;
    const [key, count, revision] = line.split(' ') as [string, string, string];
    last.set(key, { count: Number(count), revision: Number(revision) });
    left -= 1;
    if (left === 0) child.kill('SIGKILL');
  }
  expect(await exit).toBe('SIGKILL');
  return last;
}

describe.each(['synced', 'unsynced'])('%s', (mode) => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-kill-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  test(`killed ${rounds} times, nothing acknowledged is lost and nothing is torn`, { timeout: 120_000 }, async () => {
    let seed = 20_261;
    const random = (): number => {
      seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0;
      return (seed >>> 8) / 2 ** 24;
    };
    const sum = { acknowledged: 0, unheard: 0 };
    for (let round = 0; round < rounds; round++) {
      const acknowledged = await killAfter(folder, mode, 1 + Math.floor(random() * 120));
      const store = await openLmdbStore({ path: folder });
      const revisions: number[] = [];
      for (const key of counterKeys) {
        const entry = await store.get(key);
        const known = acknowledged.get(key);
        if (entry === undefined) {
          expect(known).toBeUndefined();
          continue;
        }
        const count = counterFrom(entry.value);
        revisions.push(entry.revision);
        expect(Buffer.compare(entry.value, counterValue(key, count)), `${key} is whole`).toBe(0);
        if (known === undefined) continue;
        // One change was under way; it may have been made although nobody heard of it.
        expect([known.count, known.count + 1]).toContain(count);
        if (count === known.count) expect(entry.revision).toBe(known.revision);
        else expect(entry.revision).toBeGreaterThan(known.revision);
        sum.acknowledged += known.count;
        sum.unheard += count - known.count;
      }
      const next = (await store.put('probe', new Uint8Array())) as number;
      expect(next).toBeGreaterThan(Math.max(...revisions));
      await store.close();
    }
    expect(sum.acknowledged).toBeGreaterThan(rounds);
  });
});

test.runIf(process.platform === 'linux')(
  'a store whose owner is ending in the middle of a write is opened when it has ended',
  { timeout: 60_000 },
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-kill-'));
    // Stopped, it answers nobody, as a process does whose descriptors are being closed.
    const child = spawn(process.execPath, [programAt('stop-in-write'), folder], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await new Promise((resolve) => child.stdout.once('data', resolve));
    const owner = readdirSync(folder).find((name) => name.startsWith('owner-')) as string;
    const socketsOfOwner = (): number => readFileSync('/proc/net/unix', 'utf8').split(owner).length - 1;
    const opening = openLmdbStore({ path: folder });
    const refusal = opening.then(
      () => undefined,
      (error: unknown) => error,
    );
    let isOver = false;
    void refusal.then(() => {
      isOver = true;
    });
    while (socketsOfOwner() < 2 && !isOver) await nextTurn();
    child.kill('SIGKILL');
    expect(await refusal).toBeUndefined();
    await (await opening).close();
    rmSync(folder, { recursive: true, force: true });
  },
);
