/** What a server says of a model that is broken from the start: simulated workers and time, the real library, log and readiness. */
import { MetricsObserver, MetricsRegistry, type ModelDefinition } from '@millrace/router/internal';
import { ScriptedLibrary, serveTestModel } from '@millrace/router/testing';
import { expect, test } from 'vitest';
import { LogTeller } from './cli/log-teller.ts';
import { resolveConfig } from './config/resolve-config.ts';
import { FleetWatch } from './fleet-watch.ts';
import { createLogger } from './logging/logger.ts';
import { Readiness } from './readiness.ts';
import type { RunningServer } from './running-server.ts';

const { definition } = await serveTestModel({});

function named(name: string): ModelDefinition {
  const versions = definition.versions.map((version) => ({ ...version, view: { ...version.view, name } }));
  return { ...definition, name, workerGroup: name, versions };
}

/** A server of the models `good` and `bad`. */
class BrokenServer {
  readonly lines: Record<string, unknown>[] = [];
  readonly library: ScriptedLibrary;
  readonly readiness: Readiness;
  /** Every readiness and every state of `bad` that a watcher saw, without repetitions. */
  readonly seen: string[] = [];

  constructor(isStrict: boolean) {
    const config = resolveConfig({ options: { log: { level: 'info', format: 'json' } }, cwd: '/' });
    const write = (text: string) => void this.lines.push(JSON.parse(text) as Record<string, unknown>);
    const logger = createLogger({ config, isTerminal: false, paint: (_, text) => text, write });
    const watch = new FleetWatch(logger, new MetricsObserver(new MetricsRegistry(), { version: '0', node: '0' }));
    this.library = new ScriptedLibrary({}, true, watch);
    const { models } = this.library;
    this.readiness = new Readiness(models as unknown as ConstructorParameters<typeof Readiness>[0], isStrict);
    const server = {
      models: () => models.statuses().map((status) => ({ ...status, loadMs: 1, inputs: [], outputs: [] })),
    };
    const teller = new LogTeller(logger, server as unknown as RunningServer);
    watch.onModelChange(() => teller.update());
    models.onChange(() => this.#look());
    this.library.read(named('good'), 'files');
    this.library.read(named('bad'), 'files');
    this.library.start();
  }

  /** Lets ten minutes pass; whenever a worker of `bad` starts, `fail` is called with it. */
  async passTenMinutes(fail: (link: ScriptedLibrary['lane']['last']) => void): Promise<void> {
    const { clock, lane } = this.library;
    for (let step = 0; step < 6000; step++) {
      for (const link of lane.links.slice(1)) {
        if (link.isGone) continue;
        if (link.calls.length > 0) link.dies('the worker was stopped');
        else if (link.sent.length > 0 && !this.#failed.has(link)) {
          this.#failed.add(link);
          fail(link);
        }
      }
      await this.library.settle();
      clock.advance(100);
    }
  }

  readonly #failed = new Set<object>();

  /** Lines about the broken model, of whatever part. */
  linesOfBad(): readonly unknown[] {
    return this.lines.filter((line) => JSON.stringify(line).includes('"bad')).map(({ message }) => message);
  }

  #look(): void {
    const bad = this.library.models.statuses().find(({ name }) => name === 'bad');
    const text = `${this.readiness.isReady ? 'ready' : 'not ready'}, bad is ${bad?.state}: ${bad?.reason}`;
    if (this.seen.at(-1) !== text) this.seen.push(text);
  }
}

test.each([
  [true, 'not ready'],
  [false, 'ready'],
])('a model that cannot be loaded does not make the server flap, strict readiness: %s', async (isStrict, expected) => {
  const server = new BrokenServer(isStrict);
  await server.library.loads(server.library.lane.links[0]);
  let attempts = 0;
  await server.passTenMinutes((link) => {
    attempts += 1;
    link.says({ kind: 'load-failed', model: 2, message: 'out of memory' });
  });
  expect(attempts).toBeGreaterThan(10);
  expect(attempts).toBeLessThan(30);
  expect(server.seen).toEqual([
    'not ready, bad is undefined: undefined',
    'not ready, bad is loading: the model is loading',
    `${expected}, bad is failed: out of memory`,
  ]);
  expect(server.linesOfBad()).toEqual(['model failed; it has never served', ...Array(4).fill('load failed again')]);
});

test('a model whose load kills its worker is told of at most 20 times in ten minutes, and does not flap', async () => {
  const server = new BrokenServer(true);
  await server.library.loads(server.library.lane.links[0]);
  await server.passTenMinutes((link) => link.dies('ended by SIGSEGV'));
  const states = new Set(server.seen.map((text) => text.replace(/:.*/, '')));
  expect([...states]).toEqual(['not ready, bad is undefined', 'not ready, bad is loading', 'not ready, bad is failed']);
  expect(server.seen).toHaveLength(3);
  expect(server.linesOfBad().length).toBeLessThanOrEqual(20);
  expect(server.linesOfBad()).toContain('worker exited; restarting');
});

test('a model that no load of its files can help is tried once, and told of once', async () => {
  const server = new BrokenServer(true);
  await server.library.loads(server.library.lane.links[0]);
  let attempts = 0;
  await server.passTenMinutes((link) => {
    attempts += 1;
    link.says({ kind: 'load-failed', model: 2, message: 'no such operator', isFinal: true });
  });
  expect(attempts).toBe(1);
  expect(server.linesOfBad()).toEqual(['model failed; it has never served']);
  expect(server.readiness.isReady).toBe(false);
  server.library.read(named('bad'), 'new files');
  await server.library.loads();
  expect(server.readiness.isReady).toBe(true);
});
