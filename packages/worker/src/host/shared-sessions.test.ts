import { InferenceError, type LoadSpec } from '@millrace/protocol';
import { describe, expect, test } from 'vitest';
import type { FoundModel } from '../content/model-files.ts';
import { type OutputMemory, type RunRequest, type Session, type SteppedRun, UnloadableModel } from '../engine.ts';
import { fakeLoadSpec } from '../testing/fake-load-spec.ts';
import { LimitedSession, RunLimit } from './run-limit.ts';
import { SharedSessions } from './shared-sessions.ts';

const content = {
  digest: `sha256:${'a'.repeat(64)}`,
  file: 'model.onnx',
  files: [{ path: 'model.onnx', bytes: 1, sha256: 'b'.repeat(64) }],
  locations: [],
};
const spec: LoadSpec = { ...fakeLoadSpec, path: '/a/1/model.onnx', content };

/** Sessions that count; `outcome` makes a load fail, `confirm` what was loaded. */
function sessionsUnderTest(parts: { outcome?: () => void; confirm?: FoundModel['confirm'] } = {}) {
  const paths: string[] = [];
  const counts = { unloads: 0 };
  const sessions = new SharedSessions({
    loader: {
      async load({ path }): Promise<Session> {
        paths.push(path);
        parts.outcome?.();
        return {
          run: async () => ({ outputs: [] }),
          unload: async () => {
            counts.unloads += 1;
          },
        };
      },
    },
    files: { find: async () => ({ path: '/found/model.onnx', confirm: parts.confirm ?? (async () => {}) }) },
  });
  return { sessions, paths, counts };
}

describe('shared sessions', () => {
  test('are loaded once for equal content and settings, wherever the routers see the files, and unloaded with the last user', async () => {
    const { sessions, paths, counts } = sessionsUnderTest();
    const users = await Promise.all([
      sessions.load(spec),
      sessions.load({ ...spec, model: 5, path: '/b/1/model.onnx' }),
    ]);
    expect(paths).toEqual(['/found/model.onnx']);
    expect(sessions.loaded()).toEqual([content.digest]);
    await users[0]?.unload();
    expect(counts.unloads).toBe(0);
    await users[1]?.unload();
    expect(counts.unloads).toBe(1);
    expect(sessions.loaded()).toEqual([]);
    await sessions.load(spec);
    expect(paths).toHaveLength(2);
  });

  test.each<[string, Partial<LoadSpec>]>([
    ['other settings', { threads: 2 }],
    ['another name', { name: 'other' }],
    ['another file of it', { content: { ...content, file: 'other.onnx' } }],
    ['another content', { content: { ...content, digest: `sha256:${'c'.repeat(64)}` } }],
  ])('are loaded separately for %s', async (_what, changes) => {
    const { sessions, paths } = sessionsUnderTest();
    await sessions.load(spec);
    await sessions.load({ ...spec, ...changes });
    expect(paths).toHaveLength(2);
  });

  test('a load that names no content has a session of its own, at its own path', async () => {
    const { sessions, paths, counts } = sessionsUnderTest();
    const { content: _content, ...own } = spec;
    const [one] = [await sessions.load(own), await sessions.load(own)];
    expect(paths).toEqual([spec.path, spec.path]);
    await one?.unload();
    expect(counts.unloads).toBe(1);
    expect(sessions.loaded()).toEqual([]);
  });

  test('a load that fails fails for all who wait for it, by the same error, and the next one tries again', async () => {
    let isBroken: boolean = true;
    const { sessions, paths } = sessionsUnderTest({
      outcome: () => {
        if (isBroken) throw new UnloadableModel('no input "x"');
      },
    });
    const outcomes = await Promise.allSettled([sessions.load(spec), sessions.load(spec)]);
    for (const outcome of outcomes) expect((outcome as PromiseRejectedResult).reason).toBeInstanceOf(UnloadableModel);
    expect(paths).toHaveLength(1);
    expect(sessions.loaded()).toEqual([]);
    isBroken = false;
    await sessions.load(spec);
    expect(sessions.loaded()).toEqual([content.digest]);
  });

  test('files that changed while they were loaded are not served under the digest', async () => {
    const confirm = (): Promise<void> => Promise.reject(new Error('the model changed while it was loaded'));
    const { sessions, counts } = sessionsUnderTest({ confirm });
    await expect(sessions.load(spec)).rejects.toThrow(/changed while it was loaded/);
    expect(counts.unloads).toBe(1);
  });
});

describe('the limit of runs of a session', () => {
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  const request = {} as RunRequest;
  const memory = {} as OutputMemory;

  test('holds over all of its users, in the order in which they came', async () => {
    const begun: string[] = [];
    const ends: (() => void)[] = [];
    const limit = new RunLimit(1);
    const user = (name: string): LimitedSession => {
      const session: Session = {
        run: () =>
          new Promise((resolve) => {
            begun.push(name);
            ends.push(() => resolve({ outputs: [] }));
          }),
        unload: async () => {},
      };
      return new LimitedSession(session, limit, async () => {});
    };
    const runs = ['a', 'b', 'c'].map((name) => user(name).run(request));
    for (const [position, name] of ['a', 'b', 'c'].entries()) {
      await turn();
      expect(begun.at(-1)).toBe(name);
      expect(begun).toHaveLength(position + 1);
      ends[position]?.();
      await runs[position];
    }
  });

  test('a run that fails, or answers in steps and ends in any way, makes room for the next', async () => {
    const limit = new RunLimit(1);
    let steps = 0;
    const ended: string[] = [];
    const session: Session = {
      run: () => Promise.reject(new InferenceError('inference-failed', 'why')),
      begin: (): SteppedRun => ({
        async step() {
          steps += 1;
          if (steps === 1) return { outputs: [] };
          if (steps === 2) return undefined;
          throw new InferenceError('inference-failed', 'why');
        },
        end: () => void ended.push('ended'),
      }),
      unload: async () => {},
    };
    const limited = new LimitedSession(session, limit, async () => {});
    await expect(limited.run(request)).rejects.toThrow('why');
    const whole = limited.begin(request);
    expect(await whole.step(memory)).toEqual({ outputs: [] });
    expect(await whole.step(memory)).toBeUndefined();
    await expect(limited.begin(request).step(memory)).rejects.toThrow('why');
    steps = 0;
    const left = limited.begin(request);
    await left.step(memory);
    left.end();
    expect(ended).toEqual(['ended']);
    const running = limited.begin(request);
    steps = 0;
    await running.step(memory);
    const waiting = limited.begin(request);
    const step = waiting.step(memory);
    await turn();
    waiting.end();
    running.end();
    await expect(step).rejects.toMatchObject({ code: 'cancelled' });
    await limit.take();
  });
});
