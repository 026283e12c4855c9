/** Calls on a clock of the test, over transports that answer as told. */
import { expect, test, vi } from 'vitest';
import type { ClientClock } from '../client-clock.ts';
import type { ClientEvent } from '../client-observer.ts';
import { MillraceError, unprocessed, unreachable } from '../errors/millrace-error.ts';
import { compileServiceConfig, type ServiceConfig } from '../policy/service-config.ts';
import type { CallTransport, EndpointTransports, LinkTransport, PendingCall } from '../transports/transport.ts';
import { CallRunner } from './call-runner.ts';
import { Endpoints } from './endpoints.ts';
import type { HeaderSource } from './header-source.ts';

/** Time moves when the test says so. */
class TestClock implements ClientClock {
  now = 0;
  /** How late the next timer fires, as on a busy machine. */
  lateMs = (): number => 0;
  #timers: { atMs: number; callback: () => void }[] = [];

  nowMs(): number {
    return this.now;
  }
  random(): number {
    return 0.5;
  }
  setTimer(delayMs: number, callback: () => void): () => void {
    const timer = { atMs: this.now + Math.max(0, delayMs), callback };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter((one) => one !== timer);
    };
  }
  get timerCount(): number {
    return this.#timers.length;
  }
  /** Fires what is due up to then, with everything that follows from it. */
  async advance(toMs: number): Promise<void> {
    await settled();
    for (;;) {
      const due = this.#timers.filter(({ atMs }) => atMs <= toMs).sort((a, b) => a.atMs - b.atMs)[0];
      if (due === undefined) break;
      this.#timers = this.#timers.filter((one) => one !== due);
      this.now = Math.max(this.now, due.atMs + this.lateMs());
      due.callback();
      await settled();
    }
    this.now = Math.max(this.now, toMs);
    await settled();
  }
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await Promise.resolve();
}

type Outcome = string | MillraceError;

/** Answers each attempt with the next outcome, after a time. */
class ScriptedCalls {
  readonly started: number[] = [];
  readonly timeouts: number[] = [];
  stopped = 0;
  readonly #clock: TestClock;
  readonly #script: (readonly [afterMs: number, outcome: Outcome])[];
  isReady = true;

  constructor(clock: TestClock, script: (readonly [number, Outcome])[]) {
    this.#clock = clock;
    this.#script = script;
  }

  begin(timeoutMs: number): PendingCall<string> {
    this.started.push(this.#clock.now);
    this.timeouts.push(timeoutMs);
    const [afterMs, outcome] = this.#script.shift() ?? [0, new MillraceError('internal', 'the script is over')];
    const result = new Promise<string>((resolve, reject) => {
      this.#clock.setTimer(afterMs, () => (typeof outcome === 'string' ? resolve(outcome) : reject(outcome)));
    });
    return {
      result,
      stop: () => {
        this.stopped += 1;
      },
    };
  }
}

interface Setup {
  readonly clock: TestClock;
  readonly servers: readonly ScriptedCalls[];
  readonly events: ClientEvent[];
  /** What the program gives to the runner. */
  readonly hooks: { headers: HeaderSource; observe: (event: ClientEvent) => void };
  call(options?: { deadlineMs?: number; signal?: AbortSignal; isRepeatable?: boolean }): Promise<string>;
}

function setup(config: ServiceConfig, ...scripts: (readonly [number, Outcome])[][]): Setup {
  const clock = new TestClock();
  const servers = scripts.map((script) => new ScriptedCalls(clock, script));
  const transports = servers.map((server, index): EndpointTransports => {
    const calls = {
      server,
      isServerReady: () => ({ result: Promise.resolve(server.isReady), stop: () => {} }),
      close: () => {},
    } as unknown as CallTransport;
    return { url: `http://server${index}`, calls, links: { close: () => {} } as unknown as LinkTransport };
  });
  const events: ClientEvent[] = [];
  const hooks: Setup['hooks'] = { headers: () => [], observe: (event) => events.push(event) };
  const runner = new CallRunner({
    endpoints: new Endpoints(transports, clock),
    config: compileServiceConfig(config),
    clock,
    headers: () => hooks.headers(),
    observe: (event) => hooks.observe(event),
  });
  return {
    clock,
    servers,
    events,
    hooks,
    call: ({ deadlineMs, signal, isRepeatable = true } = {}) =>
      runner.run({
        identity: { service: 's', method: 'M', model: 'm' },
        isRepeatable,
        deadlineMs,
        signal,
        begin: (transport, { timeoutMs }) =>
          (transport as unknown as { server: ScriptedCalls }).server.begin(timeoutMs),
      }),
  };
}

const retryPolicy = { maxAttempts: 3, initialBackoff: '0.1s', maxBackoff: '1s', backoffMultiplier: 2 };
const retrying: ServiceConfig = { methodConfig: [{ name: [{}], retryPolicy }] };
const full = () => new MillraceError('model-full', 'the queue is full');

test('a call that fails is repeated after its backoff, and what it cost is told', async () => {
  const { clock, servers, events, call } = setup(retrying, [
    [10, full()],
    [10, full()],
    [10, 'answer'],
  ]);
  const result = call();
  await clock.advance(1000);
  expect(await result).toBe('answer');
  expect(servers[0]?.started).toEqual([0, 110, 320]);
  expect(events.filter(({ kind }) => kind === 'attempt-ended')).toMatchObject([
    { attempt: 1, durationMs: 10, error: { code: 'model-full' }, endpoint: 'http://server0' },
    { attempt: 2, durationMs: 10 },
    { attempt: 3, durationMs: 10, error: undefined },
  ]);
  expect(clock.timerCount).toBe(0);
});

test('the last error is thrown, with the number of attempts and the endpoint', async () => {
  const { clock, call } = setup(retrying, [
    [0, full()],
    [0, full()],
    [0, full()],
  ]);
  const result = call().catch((error: unknown) => error);
  await clock.advance(1000);
  expect(await result).toMatchObject({
    code: 'model-full',
    message: 'the queue is full (after 3 attempts)',
    attempts: 3,
    endpoint: 'http://server0',
  });
});

test('the deadline is one budget: attempts get what is left, and it ends the last one', async () => {
  const { clock, servers, call } = setup(retrying, [
    [50, full()],
    [9999, 'late'],
  ]);
  const result = call({ deadlineMs: 400 }).catch((error: unknown) => error);
  await clock.advance(399);
  expect(servers[0]?.timeouts).toEqual([400, 250]);
  await clock.advance(400);
  expect(await result).toMatchObject({ code: 'deadline-exceeded', attempts: 2 });
  expect(servers[0]?.stopped).toBe(1);
});

test('a signal stops the attempt, and its reason is thrown', async () => {
  const { clock, servers, call } = setup(retrying, [[500, 'late']]);
  const controller = new AbortController();
  const result = call({ signal: controller.signal }).catch((error: unknown) => error);
  await clock.advance(10);
  controller.abort(new Error('the user left'));
  expect(await result).toMatchObject({ message: 'the user left' });
  expect(servers[0]?.stopped).toBe(1);
  const never = call({ signal: AbortSignal.abort(new Error('before')) }).catch((error: unknown) => error);
  expect(await never).toMatchObject({ message: 'before' });
  expect(servers[0]?.started).toHaveLength(1);
});

test.each([
  ['throw', () => expectToken()],
  ['reject', () => Promise.resolve().then(expectToken)],
])('headers that %s end the call with their error, in the first attempt and in a retry', async (_, headers) => {
  const { clock, servers, events, hooks, call } = setup(retrying, [[0, full()]]);
  hooks.headers = headers;
  expect(await call().catch((error: unknown) => error)).toMatchObject({ message: 'no token' });
  hooks.headers = () => [];
  const retried = call().catch((error: unknown) => error);
  await clock.advance(50);
  hooks.headers = headers;
  await clock.advance(1000);
  expect(await retried).toMatchObject({ message: 'no token' });
  expect(servers[0]?.started).toHaveLength(1);
  expect(events.map(({ kind }) => kind)).toEqual(['attempt-started', 'attempt-ended']);
  expect(clock.timerCount).toBe(0);
});

function expectToken(): never {
  throw new Error('no token');
}

test('an observer that throws changes no call, and its error is not lost', async () => {
  const thrown: (() => void)[] = [];
  vi.stubGlobal('queueMicrotask', (callback: () => void) => thrown.push(callback));
  const { clock, hooks, call } = setup(retrying, [
    [0, full()],
    [0, 'answer'],
  ]);
  hooks.observe = ({ kind }) => {
    throw new Error(`no span for ${kind}`);
  };
  const result = call();
  await clock.advance(1000);
  vi.unstubAllGlobals();
  expect(await result).toBe('answer');
  expect(thrown).toHaveLength(4);
  for (const callback of thrown) expect(callback).toThrow('no span for attempt-');
});

test('an attempt that is stopped is told as ended: a trace has no open spans', async () => {
  const hedging = { maxAttempts: 3, hedgingDelay: '0.05s' };
  const config = { methodConfig: [{ name: [{}], hedgingPolicy: hedging }] };
  const hedged = setup(config, [
    [900, 'slow'],
    [20, 'fast'],
  ]);
  const answer = hedged.call();
  await hedged.clock.advance(2000);
  expect(await answer).toBe('fast');
  expect(endsOf(hedged.events)).toEqual([
    [2, 20, undefined],
    [1, 70, 'cancelled'],
  ]);

  const late = setup(config, [
    [900, 'slow'],
    [900, 'slow'],
  ]);
  const error = late.call({ deadlineMs: 80 }).catch((reason: unknown) => reason);
  await late.clock.advance(2000);
  expect(await error).toMatchObject({ code: 'deadline-exceeded', attempts: 2, endpoint: 'http://server0' });
  expect(endsOf(late.events)).toEqual([
    [1, 80, 'deadline-exceeded'],
    [2, 30, 'deadline-exceeded'],
  ]);

  const left = setup(config, [[900, 'slow']]);
  const controller = new AbortController();
  const aborted = left.call({ signal: controller.signal }).catch((reason: unknown) => reason);
  await left.clock.advance(10);
  controller.abort(new Error('the user left'));
  expect(await aborted).toMatchObject({ message: 'the user left' });
  expect(endsOf(left.events)).toEqual([[1, 10, 'cancelled']]);
});

function endsOf(events: readonly ClientEvent[]): unknown[] {
  return events.flatMap((event) =>
    event.kind === 'attempt-ended' ? [[event.attempt, event.durationMs, event.error?.code]] : [],
  );
}

test('a retry goes to the next server, and calls go there once the first is given up', async () => {
  const down = () => unreachable('refused', false);
  const { clock, servers, call } = setup(
    retrying,
    [
      [0, down()],
      [0, down()],
      [0, down()],
    ],
    [
      [0, 'b1'],
      [0, 'b2'],
      [0, 'b3'],
      [0, 'b4'],
    ],
  );
  for (const [index, expected] of ['b1', 'b2', 'b3', 'b4'].entries()) {
    const result = call();
    await clock.advance(clock.now + 120);
    expect(await result).toBe(expected);
    expect(servers[0]?.started.length).toBe(Math.min(3, index + 1));
  }
});

test('a server that was given up is used again when its check says that it is ready', async () => {
  const down = () => unreachable('refused', false);
  const { clock, servers, call } = setup(
    { methodConfig: [] },
    [
      [0, down()],
      [0, down()],
      [0, down()],
      [0, 'a'],
    ],
    [[0, 'b']],
  );
  const [first] = servers as [ScriptedCalls];
  first.isReady = false;
  for (let count = 0; count < 3; count++) {
    const result = call().catch((error: MillraceError) => error.code);
    await clock.advance(clock.now + 1);
    expect(await result).toBe('unreachable');
  }
  const other = call();
  await clock.advance(clock.now + 1);
  expect(await other).toBe('b');
  first.isReady = true;
  await clock.advance(clock.now + 3000);
  const again = call();
  await clock.advance(clock.now + 1);
  expect(await again).toBe('a');
});

test('a hedged call is sent again while the first is under way; the first answer wins and the others are stopped', async () => {
  const hedging = { maxAttempts: 3, hedgingDelay: '0.05s' };
  const { clock, servers, call } = setup({ methodConfig: [{ name: [{}], hedgingPolicy: hedging }] }, [
    [900, 'slow'],
    [70, 'fast'],
    [900, 'never'],
  ]);
  const result = call();
  await clock.advance(2000);
  expect(await result).toBe('fast');
  expect(servers[0]?.started).toEqual([0, 50, 100]);
  expect(servers[0]?.stopped).toBe(2);
});

test('what must not run twice is not hedged', async () => {
  const hedging = { maxAttempts: 3, hedgingDelay: '0.05s' };
  const { clock, servers, call } = setup({ methodConfig: [{ name: [{}], hedgingPolicy: hedging }] }, [[900, 'once']]);
  const result = call({ isRepeatable: false });
  await clock.advance(2000);
  expect(await result).toBe('once');
  expect(servers[0]?.started).toEqual([0]);
});

test('a call may wait until a server is there', async () => {
  const script = Array.from({ length: 8 }, (): [number, Outcome] => [0, unreachable('refused', false)]);
  const { clock, servers, call } = setup({ methodConfig: [{ name: [{}], waitForReady: true, retryPolicy }] }, [
    ...script,
    [0, 'there'],
  ]);
  const result = call({ deadlineMs: 30_000 });
  await clock.advance(20_000);
  expect(await result).toBe('there');
  expect(servers[0]?.started).toHaveLength(9);
});

test('a call that the server did not process is sent again at once, and neither counts nor throttles', async () => {
  const config: ServiceConfig = {
    methodConfig: [
      { name: [{}], retryPolicy: { ...retryPolicy, maxAttempts: 2, retryableStatusCodes: ['RESOURCE_EXHAUSTED'] } },
    ],
    // Two failures close it.
    retryThrottling: { maxTokens: 3, tokenRatio: 0.1 },
  };
  const { clock, servers, events, call } = setup(config, [
    [10, unprocessed('GOAWAY')],
    [10, new MillraceError('caller-full', '')],
    [10, 'answer'],
  ]);
  const result = call({ isRepeatable: false });
  await clock.advance(1000);
  expect(await result).toBe('answer');
  expect(servers[0]?.started).toEqual([0, 10, 120]);
  expect(events.filter(({ kind }) => kind === 'attempt-started')).toMatchObject([
    { attempt: 1 },
    { attempt: 2 },
    { attempt: 3 },
  ]);
});

test('a call that no server processes is sent again at once one time, then by its policy', async () => {
  const script = Array.from({ length: 9 }, (): [number, Outcome] => [10, unprocessed('GOAWAY')]);
  const { clock, servers, call } = setup(retrying, script);
  const result = call().catch((error: unknown) => error);
  await clock.advance(5000);
  expect(await result).toMatchObject({ code: 'unreachable', isUnprocessed: true, attempts: 4 });
  expect(servers[0]?.started).toEqual([0, 10, 120, 330]);
});

test('calls that a server did not process do not open its circuit', async () => {
  const script = Array.from({ length: 3 }, (): [number, Outcome] => [0, unprocessed('GOAWAY')]);
  const { clock, servers, call } = setup(
    {},
    [...script, [0, 'first']],
    [
      [0, 'second'],
      [0, 'second'],
      [0, 'second'],
    ],
  );
  for (const expected of ['second', 'second', 'second', 'first']) {
    const result = call();
    await clock.advance(clock.now);
    expect(await result).toBe(expected);
  }
  expect(servers[0]?.started).toHaveLength(4);
});

test('an unprocessed attempt of a hedged call is sent again while the others are under way', async () => {
  const hedgingPolicy = { maxAttempts: 2, hedgingDelay: '0.05s' };
  const { clock, servers, call } = setup({ methodConfig: [{ name: [{}], hedgingPolicy }] }, [
    [900, 'slow'],
    [20, unprocessed('GOAWAY')],
    [30, 'fast'],
    [0, 'one too many'],
  ]);
  const result = call();
  await clock.advance(2000);
  expect(await result).toBe('fast');
  expect(servers[0]?.started).toEqual([0, 50, 70]);
});

test('no attempt starts after its budget, however late timers fire', async () => {
  let state = 7;
  const below = (limit: number): number => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state % limit;
  };
  const hedgingPolicy = { maxAttempts: 5, hedgingDelay: '0.02s' };
  const policies: ServiceConfig[] = [
    { methodConfig: [{ name: [{}], retryPolicy: { ...retryPolicy, maxAttempts: 5, initialBackoff: '0.02s' } }] },
    { methodConfig: [{ name: [{}], hedgingPolicy }] },
    { methodConfig: [{ name: [{}], waitForReady: true, retryPolicy }] },
  ];
  const outcomes: (() => Outcome)[] = [
    full,
    () => unreachable('refused', false),
    () => unreachable('lost', true),
    () => unprocessed('GOAWAY'),
  ];
  let lateAttempts = 0;
  let deadlines = 0;
  for (let round = 0; round < 300; round++) {
    const script = Array.from({ length: 40 }, (): [number, Outcome] => [
      below(60),
      below(12) === 0 ? 'answer' : (outcomes[below(outcomes.length)] as () => Outcome)(),
    ]);
    const { clock, servers, call } = setup(policies[round % policies.length] as ServiceConfig, script);
    clock.lateMs = () => (below(3) === 0 ? below(80) : 0);
    const deadlineMs = 1 + below(200);
    const ended = call({ deadlineMs }).then(
      () => 'answer',
      (error: MillraceError) => error.code,
    );
    await clock.advance(1000);
    if ((await ended) === 'deadline-exceeded') deadlines += 1;
    lateAttempts += servers[0]?.started.filter((startedMs) => startedMs >= deadlineMs).length ?? 0;
    expect(Math.min(...(servers[0]?.timeouts ?? []))).toBeGreaterThan(0);
  }
  expect(lateAttempts).toBe(0);
  // Otherwise nothing was tried.
  expect(deadlines).toBeGreaterThan(50);
});
