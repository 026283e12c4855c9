import { MemoryLedger, resolveMemoryLimits } from '@millrace/core';
import type { AcceptedFrame, InputFrame, OpenFrame, StreamPayload } from '@millrace/protocol';
import { Cancellation, type CancelSignal, InferenceError, neverCancelled } from '@millrace/protocol';
import { type Journal, openMemoryJournal, StoreError } from '@millrace/store';
import { describe, expect, test } from 'vitest';
import type { AnswerFlow } from '../data-plane/answer-flow.ts';
import type { InferAnswer, InferRequest } from '../data-plane/infer.ts';
import type { ModelView } from '../model/model-view.ts';
import { awaitedInputsMax } from './awaited-inputs.ts';
import type { Exactness } from './exactness.ts';
import type { PayloadCodec } from './payload-codec.ts';
import type { AttachedLink, StreamLinkFrame } from './stream-gateway.ts';
import { StreamHoldings } from './stream-holdings.ts';
import { StreamHost } from './stream-host.ts';
import type { StreamOpeningsParts } from './stream-hosting.ts';
import { StreamModel } from './stream-model.ts';
import { replacedFiles, type StreamPin } from './stream-models.ts';
import type { StreamObserver } from './stream-observer.ts';
import type { StreamSettings } from './stream-options.ts';

const settings: StreamSettings = {
  openMax: 3,
  openPerCallerMax: 2,
  resumeWindowMs: 120_000,
  lifeMsMax: 3_600_000,
  drainMsMax: 1000,
  journalWaitMsMax: 60_000,
  restoreDeathsMax: 3,
  creditMessages: 4,
  creditBytes: 10_000,
  inputBytesMax: 1000,
  retainedOutputsMax: 100,
  retainedBytesMax: 10_000,
  lateInputs: 'apply',
  latenessMsMax: Number.POSITIVE_INFINITY,
};

/** Texts stand for payloads: an input adds up with the state. */
const codec: PayloadCodec = {
  encodeInput: (payload) => Buffer.from(JSON.stringify(payload)),
  decodeInput: (bytes) => restored(bytes) as StreamPayload,
  encodeOutput: (payload) => Buffer.from(JSON.stringify(payload)),
  decodeOutput: (bytes) => restored(bytes) as StreamPayload,
};

function restored(bytes: Uint8Array): unknown {
  return JSON.parse(Buffer.from(bytes).toString(), (_key, value) =>
    value !== null && typeof value === 'object' && value.type === 'Buffer' ? Buffer.from(value.data) : value,
  );
}

const summing: ModelView = {
  name: 'sum',
  version: '1',
  platform: '',
  inputs: [
    { name: 'x', datatype: 'UINT8', shape: [1] },
    { name: 'state', datatype: 'UINT8', shape: [1] },
  ],
  outputs: [
    { name: 'y', datatype: 'UINT8', shape: [1] },
    { name: 'state_out', datatype: 'UINT8', shape: [1] },
  ],
  isBatched: false,
  rowsMax: 1,
  labels: new Map(),
  streamStates: [{ input: 'state', output: 'state_out' }],
  config: {},
};

const byte = (name: string, value: number) => ({
  name,
  datatype: 'UINT8' as const,
  shape: [1],
  data: Buffer.from([value]),
});

/** A sum over the inputs, run when the test says so. */
class SummingModel {
  readonly asked: {
    readonly request: InferRequest;
    readonly resolve: (answer: InferAnswer) => void;
    readonly reject: (error: InferenceError) => void;
  }[] = [];
  isHeld: boolean = false;
  /** Steps of this caller wait. */
  heldCaller: string | undefined = undefined;
  readonly callers: string[] = [];

  readonly inferMany = (request: InferRequest, _signal: CancelSignal, _flow: AnswerFlow): Promise<InferAnswer> =>
    new Promise((resolve, reject) => {
      this.asked.push({ request, resolve, reject });
      this.callers.push(request.origin.caller);
      if (!this.isHeld && request.origin.caller !== this.heldCaller) this.answer(this.asked.length - 1);
    });

  answer(at = 0): void {
    const [{ request, resolve }] = this.asked.splice(at, 1) as [(typeof this.asked)[0]];
    const value = (name: string): number => request.inputs.find((input) => input.name === name)?.data[0] ?? 0;
    const sum = (value('x') + value('state')) & 0xff;
    const outputs = [byte('y', sum), byte('state_out', sum)];
    resolve({ model: 'sum', version: '1', id: '', outputs, release: () => {} });
  }
}

interface HostOptions {
  readonly ledger?: MemoryLedger;
  readonly more?: Partial<StreamSettings>;
  /** Inputs are made at least so long. */
  readonly inputBytes?: number;
  readonly outputBytes?: number;
  readonly earlierEnd?: StreamOpeningsParts['earlierEnd'];
}

function hostOn(journal = openMemoryJournal(), digest = 'files-1', { ledger, more, ...bytes }: HostOptions = {}) {
  const { inputBytes = 0, outputBytes = 0, earlierEnd = 'unknown' } = bytes;
  const model = new SummingModel();
  const exactness = undefined as Exactness | undefined;
  const retirements = new Set<() => void>();
  const pins = {
    held: 0,
    /** The revisions that are held, by key; one for each pin. */
    heldKeys: [] as string[],
    /** That the next pin finds. */
    key: 'sum:1',
    digest,
    exactness,
    hasOtherFiles: false,
    /** The next pin finds a revision that is retired already. */
    isRetired: false as boolean,
    /** Looking for the version again takes so long. */
    lookUp: Promise.resolve(),
    retire: () => {
      for (const onRetired of [...retirements]) onRetired();
    },
    /** Another revision takes the place of those that are held. */
    replace: (key: string, files: string) => {
      pins.key = key;
      pins.digest = files;
      pins.retire();
    },
  };
  const pin = async (onRetired: () => void): Promise<StreamPin> => {
    const { key } = pins;
    pins.held += 1;
    pins.heldKeys.push(key);
    retirements.add(onRetired);
    if (pins.isRetired) onRetired();
    const release = () => {
      pins.held -= 1;
      retirements.delete(onRetired);
      pins.heldKeys.splice(pins.heldKeys.indexOf(key), 1);
    };
    const { digest: found, exactness } = pins;
    const check: StreamPin['check'] = (inputs, sequence) => {
      const wrong = inputs.find(({ datatype }) => datatype !== 'UINT8');
      if (wrong !== undefined)
        throw new InferenceError('invalid-request', `[input ${sequence}] ${wrong.name} is no UINT8`);
    };
    const source = { isUnchanged: async () => !pins.hasOtherFiles };
    if (revisions.get(key) === undefined) revisions.set(key, { key, source });
    const revision = revisions.get(key) as StreamPin['revision'];
    return { model: new StreamModel(summing), revision, digest: found, exactness, check, release };
  };
  const revisions = new Map<string, StreamPin['revision']>();
  const alarms: (() => void)[] = [];
  /** Steps that wait for the model to be served. */
  const waits = new Set<() => void>();
  const seen: string[] = [];
  const observer = new Proxy({} as StreamObserver, {
    get:
      (_, event) =>
      (...about: unknown[]) =>
        void seen.push([String(event), ...about].join(' ')),
  });
  // It passes when a test says so: a machine under load must not have checkpoints made that free room in the journal.
  const startedAtMs = Date.now();
  const time = { aheadMs: 0 };
  const clock: StreamOpeningsParts['clock'] = {
    now: () => 0,
    wallNow: () => startedAtMs + time.aheadMs,
    planeTimeOf: (wallMs) => wallMs,
    after: (_delayMs, callback) => {
      alarms.push(callback);
      return () => {};
    },
    alarm: (_delayMs, callback) => {
      alarms.push(callback);
      return () => void (alarms.includes(callback) && alarms.splice(alarms.indexOf(callback), 1));
    },
    endOfTurn: (callback) => void setImmediate(callback),
  };
  const host = new StreamHost({
    journal,
    models: {
      pin: async (context, onRetired) => {
        if (context !== 'sum') throw new InferenceError('unknown-model', `no model ${context}`);
        return pin(onRetired);
      },
      pinAgain: async (_model, _version, onRetired) => {
        await pins.lookUp;
        if (pins.digest === 'unreadable') throw new InferenceError('model-not-ready', 'its files cannot be read');
        return pins.digest === '' ? undefined : pin(onRetired);
      },
      onServed: (_model, _version, callback) => {
        waits.add(callback);
        return () => waits.delete(callback);
      },
    },
    inference: { inferMany: model.inferMany },
    codec: {
      ...codec,
      encodeInput: (payload) => Buffer.from(JSON.stringify(payload).padEnd(inputBytes)),
      encodeOutput: (payload) => Buffer.from(JSON.stringify(payload).padEnd(outputBytes)),
    },
    settings: { ...settings, ...more },
    earlierEnd,
    clock,
    observer,
    memory: new StreamHoldings({ ledger: ledger ?? new MemoryLedger(resolveMemoryLimits()), clock }),
  });
  return { host, model, journal, pins, alarms, waits, seen, time };
}

interface Client {
  readonly link: AttachedLink;
  readonly said: string[];
}

const alice = { caller: 'a', principal: '' };

function clientOf(host: StreamHost, open: Partial<OpenFrame>, caller = alice): Client {
  const said: string[] = [];
  const frame: OpenFrame = {
    kind: 'open',
    mode: 'either',
    context: 'sum',
    parameters: {},
    resumeAfter: 0,
    protocolVersions: [1],
    ...open,
  };
  const link = host.attach(
    frame,
    caller,
    { isAcknowledging: open.outputCredit !== undefined },
    {
      onFrame: (one) => void said.push(textOf(one)),
      onClosed: (error) => void said.push(error === undefined ? 'closed' : `closed ${error.code}`),
    },
  );
  return { link, said };
}

function textOf(frame: StreamLinkFrame): string {
  if (frame.kind === 'opened') return `opened next=${frame.nextOutput} accepted=${frame.acceptedInput}`;
  if (frame.kind === 'accepted') return `accepted ${frame.input}`;
  if (frame.kind === 'ended') return `ended ${frame.outcome} ${frame.code ?? ''}`.trim();
  if (frame.kind === 'draining') return 'draining';
  const payload = frame.payload && codec.decodeOutput(frame.payload);
  const value = payload?.kind === 'tensors' ? payload.tensors.map(({ name, data }) => `${name}=${data[0]}`) : '-';
  return `${frame.sequence}: ${value}`;
}

const input = (sequence: number, value: number, endOfInput = false): InputFrame => ({
  kind: 'input',
  sequence,
  payload: { kind: 'tensors', tensors: [byte('x', value)] },
  endOfInput,
});

/** Everything that can happen without time passing has happened. */
/** As many turns as a thousand streams of one caller take to open, and some more. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 150; turn++) await new Promise((resolve) => setImmediate(resolve));
}

function notFailed(stream: string, error: InferenceError): never {
  throw new Error(`${stream}: ${error.message}`);
}

const outputsOf = (said: readonly string[]): readonly string[] => said.filter((text) => /^\d+: /.test(text));

test('a stateful stream sums its inputs, hides the state, and ends when its inputs have', async () => {
  const { host, pins } = hostOn();
  const { link, said } = clientOf(host, {});
  for (const [index, value] of [1, 2, 3].entries()) link.input(input(index + 1, value, value === 3));
  await settle();
  // The opening and the inputs share a commit, so `opened` tells of both.
  expect(said[0]).toBe('opened next=1 accepted=3');
  expect(outputsOf(said)).toEqual(['1: y=1', '2: y=3', '3: y=6']);
  expect(said.slice(-2)).toEqual(['ended done', 'closed']);
  expect(pins.held).toBeLessThanOrEqual(1);
});

test('a client that comes back gets what it has not seen, and inputs that it repeats are applied once', async () => {
  const { host } = hostOn();
  const first = clientOf(host, { streamId: 'a-stream' });
  first.link.input(input(1, 1));
  first.link.input(input(2, 2));
  await settle();
  first.link.detach();
  const second = clientOf(host, { streamId: 'a-stream', resumeAfter: 1 });
  for (const sequence of [1, 2, 3]) second.link.input(input(sequence, sequence, sequence === 3));
  await settle();
  expect(outputsOf(second.said)).toEqual(['2: y=3', '3: y=6']);
  expect(second.said.at(-2)).toBe('ended done');
});

test('the window of a stream whose client left before it was open goes on in the next router', async () => {
  const first = hostOn();
  clientOf(first.host, { streamId: 'a-stream-0123456789' }).link.detach();
  await settle();
  expect(first.host.counts).toMatchObject({ attached: 0, detached: 1 });
  const next = hostOn(first.journal);
  next.time.aheadMs = 115_000;
  await next.host.restore(notFailed);
  // 5 s are left, which the restart makes 10.
  next.time.aheadMs = 126_000;
  for (const alarm of next.alarms.splice(0)) alarm();
  await settle();
  expect(next.seen).toContain('streamEnded expired stream-expired true');
});

test('a client that says no more is closed when its inputs are answered, and may come back', async () => {
  const { host, model } = hostOn();
  model.isHeld = true;
  const first = clientOf(host, { streamId: 'a-stream' });
  first.link.input(input(1, 1));
  // Nobody can send input 2 on this connection any more: it does not wait for it.
  first.link.input(input(3, 3));
  first.link.finish();
  await settle();
  expect(first.said).toEqual(['opened next=1 accepted=1']);
  model.answer();
  await settle();
  expect(first.said.slice(1)).toEqual(['1: y=1', 'closed']);
  model.isHeld = false;
  const second = clientOf(host, { streamId: 'a-stream', resumeAfter: 1 });
  await settle();
  second.link.finish();
  await settle();
  expect(second.said).toEqual(['opened next=2 accepted=1', 'closed']);
  const third = clientOf(host, { streamId: 'a-stream', resumeAfter: 1 });
  third.link.finish();
  // Before the stream is found: both are passed on then.
  third.link.input(input(2, 2));
  await settle();
  expect(outputsOf(third.said)).toEqual(['2: y=3', '3: y=6']);
  expect(third.said.at(-1)).toBe('closed');
  const fourth = clientOf(host, { streamId: 'a-stream', resumeAfter: 3 });
  fourth.link.input(input(4, 4, true));
  fourth.link.finish();
  await settle();
  expect(fourth.said.slice(-3)).toEqual(['4: y=10', 'ended done', 'closed']);
});

test('a stream that is being opened when the server drains is given up as well', async () => {
  const { host, journal } = hostOn();
  const { said } = clientOf(host, { streamId: 'a-stream-0123456789' });
  host.drain();
  await settle();
  expect(said).toEqual(['closed draining']);
  expect(host.counts).toEqual({ attached: 0, detached: 0, ended: 0 });
  const next = hostOn(journal);
  const again = clientOf(next.host, { streamId: 'a-stream-0123456789' });
  await settle();
  expect(again.said).toEqual(['opened next=1 accepted=0']);
});

test('a stream that is being opened when the server drains and closes the journal is told to go elsewhere', async () => {
  const { host, journal, seen } = hostOn();
  const { said } = clientOf(host, { streamId: 'a-stream-0123456789' });
  const called = host.status('another-stream-0123456789', alice);
  host.drain();
  await journal.close();
  await expect(called).rejects.toMatchObject({ code: 'draining' });
  await settle();
  expect(said).toEqual(['closed draining']);
  expect(seen).toEqual(['streamRefused draining']);
});

test('a client of another version of the protocol is refused', async () => {
  const { host } = hostOn();
  const { said } = clientOf(host, { protocolVersions: [2, 3] });
  const other = clientOf(host, { protocolVersions: [1, 2] });
  await settle();
  expect([said, other.said]).toEqual([['closed invalid-request'], ['opened next=1 accepted=0']]);
});

test('an edge that throws loses its connection, and the stream goes on', async () => {
  const { host } = hostOn();
  const closed: string[] = [];
  const frame: OpenFrame = {
    kind: 'open',
    streamId: 'a-stream-0123456789',
    mode: 'either',
    context: 'sum',
    parameters: {},
    resumeAfter: 0,
    protocolVersions: [1],
  };
  const onFrame = (): void => {
    throw new Error('a defect of an edge');
  };
  const listener = { onFrame, onClosed: (error?: InferenceError) => void closed.push(error?.code ?? '') };
  host.attach(frame, alice, { isAcknowledging: false }, listener);
  await settle();
  expect(closed).toEqual(['internal']);
  const { link, said } = clientOf(host, { streamId: 'a-stream-0123456789' });
  link.input(input(1, 5));
  await settle();
  expect(outputsOf(said)).toEqual(['1: y=5']);
});

test('what a client says before its stream is found is bounded', async () => {
  const { host } = hostOn();
  const { link, said } = clientOf(host, {});
  for (let sequence = 1; sequence <= 5000; sequence++) link.input(input(sequence, 1));
  expect(said).toEqual(['closed request-too-large']);
  await settle();
  expect(said).toHaveLength(1);
});

test('a call that names a stream does not look at its parameters again', async () => {
  const { host } = hostOn();
  const parameters = { note: 'kept' };
  clientOf(host, { streamId: 'a-stream-0123456789', parameters });
  await settle();
  Object.defineProperty(parameters, 'note', {
    enumerable: true,
    get: () => {
      throw new Error('the parameters are read again');
    },
  });
  expect((await host.status('a-stream-0123456789', alice)).id).toBe('a-stream-0123456789');
});

test('a router that died is followed by one that goes on from the journal', async () => {
  const journal = openMemoryJournal();
  const before = hostOn(journal);
  const first = clientOf(before.host, { streamId: 'a-stream' });
  first.link.input(input(1, 1));
  await settle();
  before.model.isHeld = true;
  first.link.input(input(2, 2));
  await settle();
  const after = hostOn(journal);
  const second = clientOf(after.host, { streamId: 'a-stream', resumeAfter: 1 });
  second.link.input(input(3, 3, true));
  await settle();
  expect(second.said[0]).toBe('opened next=2 accepted=2');
  expect(outputsOf(second.said)).toEqual(['2: y=3', '3: y=6']);
  // The old one learns that it has lost the stream by its next append.
  before.model.answer();
  await settle();
  expect(first.said.at(-1)).toBe('closed draining');
});

test('streams of an earlier process are taken over at the start', async () => {
  const journal = openMemoryJournal();
  clientOf(hostOn(journal).host, { streamId: 'a-stream' });
  await settle();
  const { host, pins } = hostOn(journal);
  expect(await host.restore(notFailed)).toBe(1);
  expect([host.counts, pins.held]).toEqual([{ attached: 0, detached: 1, ended: 0 }, 1]);
  expect(await host.directory.stream('a-stream')).toMatchObject({ isOwned: true, model: 'sum', version: '1' });
});

test('the models of streams that an earlier process left are known before the streams are taken over', async () => {
  const journal = openMemoryJournal();
  const before = hostOn(journal);
  expect(await before.host.streamedVersions()).toEqual(new Set());
  clientOf(before.host, { streamId: 'a-stream' });
  await settle();
  const { host } = hostOn(journal);
  expect(await host.streamedVersions()).toEqual(new Set(['sum:1']));
  expect(host.counts).toEqual({ attached: 0, detached: 0, ended: 0 });
});

test('a stream whose model has other files, or none, ends with the reason', async () => {
  for (const [digest, code] of [
    ['files-2', 'model-changed'],
    [replacedFiles, 'model-changed'],
    ['', 'model-unloaded'],
  ] as const) {
    const journal = openMemoryJournal();
    clientOf(hostOn(journal).host, { streamId: 'a-stream' });
    await settle();
    const { said } = clientOf(hostOn(journal, digest).host, { streamId: 'a-stream' });
    await settle();
    expect(said.slice(-2)).toEqual([`ended failed ${code}`, 'closed']);
  }
});

test('a stream on files that were replaced before it opened is not resumed on any others, replaced as well or not', async () => {
  for (const digest of [replacedFiles, 'files-2']) {
    const journal = openMemoryJournal();
    clientOf(hostOn(journal, replacedFiles).host, { streamId: 'a-stream' });
    await settle();
    const { said } = clientOf(hostOn(journal, digest).host, { streamId: 'a-stream' });
    await settle();
    expect(said.slice(-2)).toEqual(['ended failed model-changed', 'closed']);
  }
});

test('a stream whose model cannot be read at the moment waits for it', async () => {
  const first = hostOn();
  clientOf(first.host, { streamId: 'one-that-waits' }).link.input(input(1, 5));
  await settle();
  const next = hostOn(first.journal, 'unreadable');
  const failed: string[] = [];
  expect(await next.host.restore((stream, { code }) => failed.push(`${stream} ${code}`))).toBe(0);
  expect(failed).toEqual(['one-that-waits model-not-ready']);
  const early = clientOf(next.host, { streamId: 'one-that-waits', mode: 'resume' });
  await settle();
  expect(early.said).toEqual(['closed model-not-ready']);
  next.pins.digest = 'files-1';
  const { link, said } = clientOf(next.host, { streamId: 'one-that-waits', mode: 'resume', resumeAfter: 1 });
  link.input(input(2, 6, true));
  await settle();
  expect(outputsOf(said)).toEqual(['2: y=11']);
  expect(said.slice(-2)).toEqual(['ended done', 'closed']);
});

/** A stream that has ended, and that its host has left to the journal. */
async function leaveEnded(at: ReturnType<typeof hostOn>, streamId: string): Promise<void> {
  clientOf(at.host, { streamId }).link.input(input(1, 5, true));
  await settle();
  at.time.aheadMs += 1000;
  for (const alarm of at.alarms.splice(0)) alarm();
  await settle();
}

const noStreams = { attached: 0, detached: 0, ended: 0 };

test('a stream that has ended takes no memory, and is taken over by whoever resumes it', async () => {
  const first = hostOn();
  await leaveEnded(first, 'one-that-is-over');
  expect([first.host.counts, first.pins.held]).toEqual([noStreams, 0]);
  const next = hostOn(first.journal);
  expect(await next.host.restore(notFailed)).toBe(0);
  expect(await next.host.streamedVersions()).toEqual(new Set());
  for (const { host } of [first, next]) {
    expect(host.counts).toEqual(noStreams);
    const { said } = clientOf(host, { streamId: 'one-that-is-over', mode: 'resume' });
    await settle();
    expect(said).toEqual(['opened next=1 accepted=1', '1: y=5', 'ended done', 'closed']);
    expect((await host.status('one-that-is-over', alice)).ended?.outcome).toBe('done');
    await expect(host.input('one-that-is-over', input(2, 1), alice, neverCancelled)).rejects.toMatchObject({
      code: 'input-after-end',
    });
  }
});

test('a stream that ended just before its router died is left to the journal by the next one', async () => {
  const first = hostOn();
  clientOf(first.host, { streamId: 'one-that-is-over' }).link.input(input(1, 5, true));
  await settle();
  const { host, time, alarms } = hostOn(first.journal);
  expect(await host.restore(notFailed)).toBe(1);
  expect(host.counts).toEqual({ ...noStreams, ended: 1 });
  time.aheadMs += 1000;
  for (const alarm of alarms.splice(0)) alarm();
  expect(host.counts).toEqual(noStreams);
  expect(await hostOn(first.journal).host.restore(notFailed)).toBe(0);
});

test('of a stream that ended and was not asked for again only the id stays', async () => {
  const time = { nowMs: Date.now() };
  const sweeps: (() => void)[] = [];
  const journal = openMemoryJournal({
    clock: {
      now: () => time.nowMs,
      alarm: (_delayMs, callback) => {
        sweeps.push(callback);
        return () => {};
      },
      endOfTurn: (callback) => void setImmediate(callback),
    },
  });
  const first = hostOn(journal);
  await leaveEnded(first, 'one-that-is-over');
  time.nowMs += settings.resumeWindowMs + 10_000;
  for (const sweep of sweeps.splice(0)) sweep();
  await settle();
  expect(await journal.peek('one-that-is-over')).toMatchObject({ snapshot: [], entries: [] });
  for (const later of [first.host, hostOn(journal).host]) {
    expect(await later.restore(notFailed)).toBe(0);
    const [resume, either] = (['resume', 'either'] as const).map((mode) =>
      clientOf(later, { streamId: 'one-that-is-over', mode }),
    );
    await settle();
    expect(resume?.said).toEqual(['closed stream-not-found']);
    expect(either?.said).toEqual(['closed stream-conflict']);
  }
});

test('a stream whose router died before its opening was durable is opened by the next one', async () => {
  const journal = openMemoryJournal();
  await journal.takeOver('not-born-yet', 'a router that died', { create: true });
  const { link, said } = clientOf(hostOn(journal).host, { streamId: 'not-born-yet' });
  link.input(input(1, 5, true));
  await settle();
  expect(said).toEqual(['opened next=1 accepted=1', '1: y=5', 'ended done', 'closed']);
});

test('misuse gets its named error', async () => {
  const { host } = hostOn();
  const bob = { caller: 'b', principal: 'bob' };
  const cases: [Partial<OpenFrame>, typeof alice, string][] = [
    [{ streamId: 'none', mode: 'resume' }, alice, 'closed stream-not-found'],
    [{ context: 'other' }, alice, 'closed unknown-model'],
    [{ streamId: 'known', mode: 'new' }, alice, 'closed stream-conflict'],
    [{ streamId: 'known', parameters: { seed: 1 } }, alice, 'closed stream-conflict'],
    [{ streamId: 'known', mode: 'resume', context: '' }, bob, 'closed stream-not-found'],
    [{ streamId: 'known', resumeAfter: 9 }, alice, 'closed invalid-request'],
  ];
  clientOf(host, { streamId: 'known' });
  await settle();
  for (const [open, caller, expected] of cases) {
    const { said } = clientOf(host, open, caller);
    await settle();
    expect([open, said.at(-1)]).toEqual([open, expected]);
  }
});

test('a caller has room for two streams, the server for three', async () => {
  const { host } = hostOn();
  clientOf(host, {});
  clientOf(host, {});
  const third = clientOf(host, {});
  const other = clientOf(host, {}, { caller: 'b', principal: '' });
  const fourth = clientOf(host, {}, { caller: 'c', principal: '' });
  await settle();
  expect([third.said, other.said[0], fourth.said]).toEqual([
    ['closed too-many-streams'],
    'opened next=1 accepted=0',
    ['closed too-many-streams'],
  ]);
});

test('a stream that has ended gives its room to others at once', async () => {
  const { host } = hostOn();
  for (let stream = 0; stream < 5; stream++) {
    const { link, said } = clientOf(host, {});
    link.input(input(1, 5, true));
    await settle();
    expect(said.at(-2)).toBe('ended done');
  }
  expect(host.counts).toEqual({ ...noStreams, ended: 5 });
});

test('inputs, acknowledgements and cancels come in calls of their own, too', async () => {
  const { host } = hostOn();
  const { said } = clientOf(host, { streamId: 'a-stream' });
  await settle();
  const accepted: AcceptedFrame = await host.input('a-stream', input(1, 5), alice, neverCancelled);
  expect(accepted).toEqual({ kind: 'accepted', input: 1 });
  await settle();
  expect(outputsOf(said)).toEqual(['1: y=5']);
  expect((await host.status('a-stream', alice)).outputs).toBe(1);
  await host.cancel('a-stream', { kind: 'cancel', reason: 'enough' }, alice);
  await settle();
  expect(said.slice(-2)).toEqual(['ended cancelled cancelled', 'closed']);
  await expect(host.input('a-stream', input(2, 1), alice, neverCancelled)).rejects.toMatchObject({ code: 'cancelled' });
});

test('calls that wait for inputs before theirs end with their callers, and only so many wait', async () => {
  const { host } = hostOn();
  clientOf(host, { streamId: 'a-stream' });
  await settle();
  const cancellation = new Cancellation();
  const send = (sequence: number, signal: CancelSignal): Promise<string> =>
    host.input('a-stream', input(sequence, 5), alice, signal).then(
      ({ input: accepted }) => `accepted ${accepted}`,
      ({ code }: InferenceError) => code,
    );
  // The same input again and again, while the one before it is missing.
  const waiting = Array.from({ length: awaitedInputsMax }, () => send(2, cancellation));
  await settle();
  expect(await send(2, neverCancelled)).toBe('caller-full');
  cancellation.cancel('cancelled');
  expect(new Set(await Promise.all(waiting))).toEqual(new Set(['cancelled']));
  const second = send(2, neverCancelled);
  await settle();
  expect(await send(1, neverCancelled)).toMatch(/^accepted [12]$/);
  expect(await second).toBe('accepted 2');
});

test('the ending of a cancelled stream repeats only the beginning of a long reason', async () => {
  const { host } = hostOn();
  clientOf(host, { streamId: 'a-stream' });
  await settle();
  await host.cancel('a-stream', { kind: 'cancel', reason: 'x'.repeat(500) }, alice);
  await settle();
  const { ended } = await host.status('a-stream', alice);
  expect(ended?.message).toBe(`cancelled by the client: ${'x'.repeat(128)}… (500 characters)`);
});

test('a step that finds no capacity is asked again, and the stream goes on', async () => {
  const { host, model, alarms } = hostOn();
  model.isHeld = true;
  const { link, said } = clientOf(host, {});
  link.input(input(1, 7, true));
  await settle();
  model.asked.shift()?.reject(new InferenceError('model-full', 'the queue is full'));
  await settle();
  model.isHeld = false;
  for (const alarm of alarms.splice(0)) alarm();
  await settle();
  expect(outputsOf(said)).toEqual(['1: y=7']);
});

test('a step whose model is loading is asked again when that is served, before its pause has passed', async () => {
  const { host, model, waits } = hostOn();
  model.isHeld = true;
  const { link, said } = clientOf(host, {});
  link.input(input(1, 7, true));
  await settle();
  model.asked.shift()?.reject(new InferenceError('model-not-ready', 'the model is loading'));
  await settle();
  expect([model.asked.length, waits.size]).toEqual([0, 1]);
  model.isHeld = false;
  for (const served of [...waits]) served();
  await settle();
  expect(outputsOf(said)).toEqual(['1: y=7']);
  expect(waits.size).toBe(0);
});

test('a step that is cancelled waits for its model no longer', async () => {
  const { host, model, waits } = hostOn();
  model.isHeld = true;
  const { link } = clientOf(host, {});
  link.input(input(1, 7));
  await settle();
  model.asked.shift()?.reject(new InferenceError('model-not-ready', 'the model is loading'));
  await settle();
  link.cancel({ kind: 'cancel', reason: '' });
  await settle();
  expect([model.asked.length, waits.size]).toEqual([0, 0]);
});

test('a step whose model is not in memory, and has other files by now, ends the stream', async () => {
  const { host, model, pins } = hostOn();
  model.isHeld = true;
  const { link, said } = clientOf(host, {});
  link.input(input(1, 7));
  await settle();
  pins.hasOtherFiles = true;
  model.asked.shift()?.reject(new InferenceError('model-not-ready', 'the model is not loaded'));
  await settle();
  expect(said.slice(-2)).toEqual(['ended failed model-changed', 'closed']);
  expect(pins.held).toBe(0);
});

test('a step that is refused for want of room waits, whatever files there are: a worker has its model', async () => {
  const { host, model, pins, alarms } = hostOn();
  model.isHeld = true;
  const { link, said } = clientOf(host, {});
  link.input(input(1, 7, true));
  await settle();
  pins.hasOtherFiles = true;
  model.asked.shift()?.reject(new InferenceError('model-full', 'the queue is full'));
  await settle();
  model.isHeld = false;
  for (const alarm of alarms.splice(0)) alarm();
  await settle();
  expect(outputsOf(said)).toEqual(['1: y=7']);
});

test('an input that kills the last worker of its model each time is poison, also while that is in a crash loop', async () => {
  const { host, model, waits } = hostOn();
  model.isHeld = true;
  const { link, said } = clientOf(host, {});
  link.input(input(1, 7));
  await settle();
  const cause = new InferenceError('worker-lost', 'a worker died while it ran this request alone');
  // The first death makes it a suspect, the two after it run it alone.
  for (let death = 1; death <= 3; death++) {
    expect(said).toEqual(['opened next=1 accepted=1']);
    model.asked.shift()?.reject(new InferenceError('model-not-ready', 'no worker can run it', { cause }));
    await settle();
    if (death === 3) break;
    // No worker is there yet: this says nothing about the input.
    model.asked.shift()?.reject(new InferenceError('model-not-ready', 'the model is in a crash loop'));
    await settle();
    for (const served of [...waits]) served();
    await settle();
  }
  expect(said.slice(-2)).toEqual(['ended failed poison-request', 'closed']);
});

test('a step of a version that has lost its workers is asked again', async () => {
  const { host, model, alarms } = hostOn();
  model.isHeld = true;
  const { link, said } = clientOf(host, {});
  link.input(input(1, 7, true));
  await settle();
  model.asked.shift()?.reject(new InferenceError('model-not-ready', 'no worker can run it at the moment'));
  await settle();
  model.isHeld = false;
  for (const alarm of alarms.splice(0)) alarm();
  await settle();
  expect(outputsOf(said)).toEqual(['1: y=7']);
});

test('a stream whose life is over ends as expired, since its log outlives it', async () => {
  const time = { aheadMs: 0 };
  const journal = openMemoryJournal({
    clock: {
      now: () => Date.now() + time.aheadMs,
      alarm: () => () => {},
      endOfTurn: (callback) => void setImmediate(callback),
    },
  });
  const { host, alarms, time: hostTime } = hostOn(journal);
  const { said } = clientOf(host, { streamId: 'a-stream' });
  await settle();
  const { openedAtMs, expiresAtMs } = await host.directory.stream('a-stream');
  expect(expiresAtMs - openedAtMs).toBe(settings.lifeMsMax);
  time.aheadMs = settings.lifeMsMax;
  hostTime.aheadMs = settings.lifeMsMax;
  for (const alarm of alarms.splice(0)) alarm();
  await settle();
  expect(said.slice(-2)).toEqual(['ended expired stream-expired', 'closed']);
  expect(await journal.list()).toEqual([]);
});

test('a call beside the connection says by a named error that the journal does not answer', async () => {
  const { host, journal } = hostOn();
  await journal.close();
  await expect(host.input('a-stream', input(1, 5), alice, neverCancelled)).rejects.toMatchObject({
    code: 'journal-unavailable',
  });
  await expect(host.directory.stream('a-stream')).rejects.toMatchObject({ code: 'journal-unavailable' });
});

test('a journal that is full while an input is on its way ends the stream after that input', async () => {
  const { host, model } = hostOn(openMemoryJournal({ bounds: { logBytesMax: 2500 } }));
  model.isHeld = true;
  const { link, said } = clientOf(host, {});
  await settle();
  const large = (sequence: number): InputFrame => ({
    ...input(sequence, 1),
    payload: { kind: 'tensors', tensors: [{ ...byte('x', 1), data: Buffer.alloc(300) }] },
  });
  // The first is not durable yet when the others are refused.
  link.input(large(1));
  await Promise.resolve();
  for (const sequence of [2, 3]) link.input(large(sequence));
  await settle();
  expect(said).toEqual(['opened next=1 accepted=0', 'accepted 1', 'ended failed journal-full', 'closed']);
});

test('a replaced version keeps its streams for a while, then they end', async () => {
  const { host, pins, alarms } = hostOn();
  const { said } = clientOf(host, {});
  await settle();
  pins.retire();
  await settle();
  expect(said).toEqual(['opened next=1 accepted=0']);
  for (const alarm of alarms.splice(0)) alarm();
  await settle();
  expect([said.slice(-2), pins.held]).toEqual([['ended failed model-unloaded', 'closed'], 0]);
});

describe('a stream whose revision is replaced', () => {
  const opened = async () => {
    const made = hostOn();
    const client = clientOf(made.host, { streamId: 'a-stream' });
    client.link.input(input(1, 3));
    await settle();
    expect(outputsOf(client.said)).toEqual(['1: y=3']);
    const askedOf = (): readonly unknown[] => made.model.asked.map(({ request }) => request.target.pinnedTo?.key);
    const ring = async (): Promise<void> => {
      for (const alarm of made.alarms.splice(0)) alarm();
      await settle();
    };
    return { ...made, ...client, askedOf, ring };
  };

  test('by one with the same files goes on with its state there, and lets the old one go at once', async () => {
    const { pins, link, said, model, askedOf, ring } = await opened();
    pins.replace('sum:1#2', 'files-1');
    await settle();
    expect(pins.heldKeys).toEqual(['sum:1#2']);
    model.isHeld = true;
    link.input(input(2, 4));
    await settle();
    expect(askedOf()).toEqual(['sum:1#2']);
    model.answer();
    await ring();
    expect(outputsOf(said)).toEqual(['1: y=3', '2: y=7']);
    // The next replacement is followed as well.
    pins.replace('sum:1#3', 'files-1');
    await settle();
    await ring();
    expect([pins.heldKeys, said.at(-1)]).toEqual([['sum:1#3'], '2: y=7']);
  });

  test('ends its running step on the old one, which is held until then', async () => {
    const { pins, link, said, model, askedOf } = await opened();
    model.isHeld = true;
    link.input(input(2, 4));
    await settle();
    pins.replace('sum:1#2', 'files-1');
    pins.replace('sum:1#3', 'files-1');
    await settle();
    pins.replace('sum:1#4', 'files-1');
    await settle();
    expect(pins.heldKeys.sort()).toEqual(['sum:1', 'sum:1#4']);
    link.input(input(3, 1));
    model.answer();
    await settle();
    expect([pins.heldKeys, askedOf()]).toEqual([['sum:1#4'], ['sum:1#4']]);
    model.answer();
    await settle();
    expect(outputsOf(said)).toEqual(['1: y=3', '2: y=7', '3: y=8']);
  });

  test('by one with other files, or by none, ends after a while', async () => {
    for (const files of ['files-2', '']) {
      const { pins, said, ring } = await opened();
      pins.replace('sum:1#2', files);
      await settle();
      expect([pins.heldKeys, said.at(-1)]).toEqual([['sum:1'], '1: y=3']);
      await ring();
      expect([said.slice(-2), pins.held]).toEqual([['ended failed model-unloaded', 'closed'], 0]);
    }
  });

  test('asks the new one for a step that waits after a refusal', async () => {
    const { pins, link, said, model, askedOf, ring } = await opened();
    model.isHeld = true;
    link.input(input(2, 4));
    await settle();
    model.asked.shift()?.reject(new InferenceError('model-full', 'the queue is full'));
    await settle();
    pins.replace('sum:1#2', 'files-1');
    await settle();
    expect([pins.heldKeys, model.asked.length]).toEqual([['sum:1#2'], 0]);
    await ring();
    expect(askedOf()).toEqual(['sum:1#2']);
    model.answer();
    await settle();
    expect(outputsOf(said)).toEqual(['1: y=3', '2: y=7']);
  });

  test('while it was not in memory asks the new one for the step that was refused, if it has the same files', async () => {
    const gone = new InferenceError('model-unloaded', 'it was replaced while it was not in memory');
    for (const files of ['files-1', 'files-2']) {
      const { pins, link, said, model } = await opened();
      model.isHeld = true;
      link.input(input(2, 4));
      await settle();
      // The step is refused before the revision is retired.
      Object.assign(pins, { key: 'sum:1#2', digest: files });
      model.asked.shift()?.reject(gone);
      await settle();
      if (files === 'files-1') model.answer();
      await settle();
      expect(said.at(-1)).toBe(files === 'files-1' ? '2: y=7' : 'closed');
      expect(pins.heldKeys).toEqual(files === 'files-1' ? ['sum:1#2'] : []);
    }
  });

  test('looks again before it is ended when the new one could not be read', async () => {
    for (const readable of [true, false]) {
      const { pins, said, ring } = await opened();
      pins.replace('sum:1#2', 'unreadable');
      await settle();
      expect(pins.heldKeys).toEqual(['sum:1']);
      if (readable) pins.digest = 'files-1';
      await ring();
      expect(pins.heldKeys).toEqual(readable ? ['sum:1#2'] : []);
      expect(said.at(-1)).toBe(readable ? '1: y=3' : 'closed');
    }
  });

  test('and which ends or leaves while the new one is looked for holds neither', async () => {
    for (const leaves of [true, false]) {
      const { host, pins, link, alarms } = await opened();
      let found = (): void => {};
      pins.lookUp = new Promise<void>((resolve) => {
        found = resolve;
      });
      pins.replace('sum:1#2', 'files-1');
      await settle();
      if (leaves) host.drain();
      else link.cancel({ kind: 'cancel', reason: '' });
      await settle();
      found();
      await settle();
      expect(pins.heldKeys).toEqual([]);
      for (const alarm of alarms.splice(0)) alarm();
      await settle();
      expect(pins.heldKeys).toEqual([]);
    }
  });

  test('while it is opened follows the new one as well, also where that is retired already', async () => {
    const { host, pins, model, alarms } = hostOn();
    pins.isRetired = true;
    const { link, said } = clientOf(host, {});
    pins.key = 'sum:1#2';
    await settle();
    expect(pins.heldKeys).toEqual(['sum:1#2']);
    pins.isRetired = false;
    pins.replace('sum:1#3', 'files-1');
    model.isHeld = true;
    await settle();
    expect(pins.heldKeys).toEqual(['sum:1#3']);
    link.input(input(1, 4));
    await settle();
    model.answer();
    for (const alarm of alarms.splice(0)) alarm();
    await settle();
    expect(said).toEqual(['opened next=1 accepted=0', 'accepted 1', '1: y=4']);
  });
});

test('a drain tells every client, and leaves the stream to the next router', async () => {
  const journal = openMemoryJournal();
  const { host } = hostOn(journal);
  const { link, said } = clientOf(host, { streamId: 'a-stream' });
  link.input(input(1, 4));
  await settle();
  host.drain();
  await settle();
  expect(said.slice(-2)).toEqual(['draining', 'closed draining']);
  const { said: refused } = clientOf(host, {});
  await settle();
  expect(refused).toEqual(['closed draining']);
  const next = clientOf(hostOn(journal).host, { streamId: 'a-stream', resumeAfter: 0 });
  await settle();
  expect(outputsOf(next.said)).toEqual(['1: y=4']);
});

test('resumes are told by cause, and how long the client was without the stream', async () => {
  const journal = openMemoryJournal();
  const before = hostOn(journal);
  const gapsOf = (seen: readonly string[]): number => seen.filter((text) => text.startsWith('streamRejoined ')).length;
  const first = clientOf(before.host, { streamId: 'a-stream' });
  await settle();
  clientOf(before.host, { streamId: 'a-stream' });
  await settle();
  expect(first.said.at(-1)).toBe('closed stream-superseded');
  const third = clientOf(before.host, { streamId: 'a-stream' });
  await settle();
  third.link.input(input(1, 1));
  await settle();
  third.link.detach();
  // A call beside the connection is no resume, and neither is one that is refused.
  await before.host.status('a-stream', alice);
  clientOf(before.host, { streamId: 'a-stream', resumeAfter: 9 });
  clientOf(before.host, { streamId: 'another', mode: 'resume', context: '' });
  await settle();
  clientOf(before.host, { streamId: 'a-stream' });
  await settle();
  expect(before.seen.filter((text) => !text.startsWith('streamRejoined '))).toEqual([
    'streamOpened',
    'streamResumed take-over',
    'streamResumed take-over',
    'streamRefused stream-not-found',
    'streamResumed reconnect',
  ]);
  expect(gapsOf(before.seen)).toBe(3);

  const after = hostOn(journal);
  after.model.isHeld = true;
  const held = clientOf(after.host, { streamId: 'a-stream', resumeAfter: 1 });
  held.link.input(input(2, 2));
  await settle();
  // Nothing was owed when it opened: the gap was over with `opened`.
  expect(after.seen).toContain('streamResumed router-restart');
  expect(gapsOf(after.seen)).toBe(1);
  held.link.detach();
  const waiting = clientOf(after.host, { streamId: 'a-stream', resumeAfter: 1 });
  await settle();
  // An input is not answered yet: the gap goes on to the output.
  expect([waiting.said[0], gapsOf(after.seen)]).toEqual(['opened next=2 accepted=2', 1]);
  while (after.model.asked.length > 0) {
    after.model.answer();
    await settle();
  }
  expect([outputsOf(waiting.said), gapsOf(after.seen)]).toEqual([['2: y=3'], 2]);
});

test('steps that run again after a restart, that are postponed, and endings are told', async () => {
  const journal = openMemoryJournal();
  const before = hostOn(journal);
  const first = clientOf(before.host, { streamId: 'a-stream' });
  first.link.input(input(1, 1));
  await settle();
  const after = hostOn(journal);
  const second = clientOf(after.host, { streamId: 'a-stream' });
  await settle();
  // No checkpoint was due: the state is built again from the input, whose output is journaled.
  expect(after.seen).toContain('stepRepeated 1');
  after.model.isHeld = true;
  second.link.input(input(2, 2, true));
  await settle();
  after.model.asked.shift()?.reject(new InferenceError('model-full', 'the queue is full'));
  await settle();
  expect(after.seen).toContain('stepPostponed');
  after.model.isHeld = false;
  for (const alarm of after.alarms.splice(0)) alarm();
  await settle();
  expect(second.said.at(-2)).toBe('ended done');
  expect(after.seen.filter((text) => text.startsWith('streamEnded'))).toEqual(['streamEnded done  false']);
});

test('operators list, see and cancel streams of this router and those that only lie in the journal', async () => {
  const journal = openMemoryJournal();
  const before = hostOn(journal);
  const left = clientOf(before.host, { streamId: 'left' });
  left.link.input(input(1, 5));
  await settle();
  before.host.drain();
  await settle();
  const { host } = hostOn(journal);
  const here = clientOf(host, { streamId: 'here' });
  await settle();
  const query = { model: undefined, isOpenOnly: false, limit: 10, after: '' };
  const idsOf = async (more: Partial<typeof query> | { model: string }) =>
    (await host.directory.streams({ ...query, ...more })).streams.map(({ id }) => id);
  expect(await host.directory.streams(query)).toMatchObject({
    streams: [
      { id: 'here', model: 'sum', version: '1', isOwned: true, isAttached: true, acceptedInput: 0, outputs: 0 },
      { id: 'left', isOwned: false, isAttached: false, acceptedInput: 1, outputs: 1, ended: undefined },
    ],
    next: undefined,
  });
  expect(await host.directory.streams({ ...query, limit: 1 })).toMatchObject({
    streams: [{ id: 'here' }],
    next: 'here',
  });
  expect(await idsOf({ after: 'here' })).toEqual(['left']);
  expect([await idsOf({ model: 'sum' }), await idsOf({ model: 'other' })]).toEqual([['here', 'left'], []]);

  const ended = { outcome: 'cancelled', code: 'cancelled', message: 'cancelled by an operator: too long' };
  expect(await host.directory.cancelStream('left', 'too long')).toMatchObject({ id: 'left', ended });
  expect(await host.directory.cancelStream('here', '')).toMatchObject({ id: 'here', ended: { outcome: 'cancelled' } });
  expect(here.said.slice(-2)).toEqual(['ended cancelled cancelled', 'closed']);
  expect([await idsOf({}), await idsOf({ isOpenOnly: true })]).toEqual([['here', 'left'], []]);
  // An ending never changes.
  expect(await host.directory.cancelStream('left', 'again')).toMatchObject({ ended });
  await expect(host.directory.stream('none')).rejects.toMatchObject({ code: 'stream-not-found' });
  await expect(host.directory.cancelStream('none', '')).rejects.toMatchObject({ code: 'stream-not-found' });
});

test('steps of a model that company changes run alone, and its streams are exact', async () => {
  const { host, model, pins } = hostOn();
  pins.exactness = { verdict: 'alone', reason: 'company changes its bits' };
  model.isHeld = true;
  const { link } = clientOf(host, { streamId: 'with-a-long-enough-id' });
  link.input(input(1, 5));
  await settle();
  expect(model.asked.map(({ request }) => request.target.isAlone)).toEqual([true]);
  expect((await host.status('with-a-long-enough-id', alice)).exactness).toBe('alone');
});

test('a stream of an inexact model says so, also after a restart, and journaled outputs hold when a step runs again', async () => {
  const before = hostOn();
  before.pins.exactness = { verdict: 'inexact', reason: 'it is random' };
  const warnings: unknown[] = [];
  const id = 'with-a-long-enough-id';
  const open: OpenFrame = {
    kind: 'open',
    streamId: id,
    mode: 'either',
    context: 'sum',
    parameters: {},
    resumeAfter: 0,
    protocolVersions: [1],
  };
  const onFrame = (frame: StreamLinkFrame): void => {
    if (frame.kind === 'opened') warnings.push(...frame.warnings);
  };
  const link = before.host.attach(open, alice, { isAcknowledging: true }, { onFrame, onClosed: () => {} });
  link.input(input(1, 5));
  await settle();
  expect(warnings).toEqual(['exact: false: after a failure the stream may go on with other values; it is random']);

  const after = hostOn(before.journal);
  // The step that runs again for its state gives another value than the one that is journaled.
  after.model.isHeld = true;
  expect((await after.host.directory.stream(id)).exactness).toBe('inexact');
  const { said } = clientOf(after.host, { streamId: id, resumeAfter: 0 });
  await settle();
  const { request, resolve } = after.model.asked.shift() as (typeof after.model.asked)[0];
  const outputs = [byte('y', 99), byte('state_out', 99)];
  resolve({ model: 'sum', version: '1', id: '', outputs, release: () => {} });
  await settle();
  expect(request.target.isAlone).toBe(false);
  expect(said).toEqual(['opened next=1 accepted=1', '1: y=5']);
  expect((await after.host.status(id, alice)).exactness).toBe('inexact');
});

describe('memory of streams', () => {
  const mebibyte = 1024 ** 2;
  /** 16 MiB shared by all, and 2 MiB for small holdings. */
  const limitedLedger = (): MemoryLedger =>
    new MemoryLedger({ ...resolveMemoryLimits(), sharedBytes: 16 * mebibyte, smallBytes: 2 * mebibyte });
  const more = { openMax: 2000, openPerCallerMax: 1500, inputBytesMax: 100_000 };

  test('one owner with 1,000 streams full of pending inputs has its share; the stream of another goes on', async () => {
    const ledger = limitedLedger();
    const { host, model } = hostOn(openMemoryJournal(), 'files-1', { ledger, more, inputBytes: 20_000 });
    model.heldCaller = 'a';
    const clients = Array.from({ length: 1000 }, () => clientOf(host, {}));
    await settle();
    for (let sequence = 1; sequence <= 4; sequence++) {
      for (const { link } of clients) link.input(input(sequence, 1));
      await settle();
    }
    const refused = clients.filter(({ said }) => said.at(-1) === 'closed caller-full').length;
    expect(refused).toBeGreaterThan(500);
    expect(ledger.usedBytes).toBeGreaterThan(4 * mebibyte);
    // By the rule of shares one owner leaves at least the square of its part free.
    expect(ledger.sharedUsed).toBeLessThan(0.4 * 16 * mebibyte);
    expect(ledger.smallUsed).toBeLessThan(0.4 * 2 * mebibyte);

    const { said } = clientOf(host, {}, { caller: 'b', principal: '' });
    await settle();
    expect(said).toEqual(['opened next=1 accepted=0']);
    const bob = clientOf(host, { streamId: 'stream-of-bob' }, { caller: 'b', principal: '' });
    await settle();
    for (let sequence = 1; sequence <= 20; sequence++) bob.link.input(input(sequence, 1));
    await settle();
    expect(outputsOf(bob.said)).toHaveLength(4);
    bob.link.taken(4);
    await settle();
    expect(outputsOf(bob.said)).toHaveLength(8);
  });

  test('a refused input is not lost: the stream goes on when its client resumes and there is room', async () => {
    const ledger = limitedLedger();
    const { host, model, alarms } = hostOn(openMemoryJournal(), 'files-1', { ledger, more, inputBytes: 80_000 });
    model.isHeld = true;
    const { link, said } = clientOf(host, { streamId: 'a-stream-0123456789' });
    await settle();
    link.input(input(1, 5));
    await settle();
    const others = ledger.guest('a').lease({ onMemory: () => {} });
    others.count(9 * mebibyte);
    link.input(input(2, 6));
    await settle();
    expect(said.slice(-2)).toEqual(['accepted 1', 'closed caller-full']);
    await expect(host.input('a-stream-0123456789', input(2, 6), alice, neverCancelled)).rejects.toMatchObject({
      code: 'caller-full',
    });
    // No credit is given until there is room.
    const credits: unknown[] = [];
    const open: OpenFrame = {
      kind: 'open',
      streamId: 'a-stream-0123456789',
      mode: 'resume',
      context: '',
      parameters: {},
      resumeAfter: 0,
      protocolVersions: [1],
    };
    const onFrame = (frame: StreamLinkFrame): void => {
      if (frame.kind === 'opened' || frame.kind === 'accepted') credits.push(frame.inputCredit?.messages);
    };
    const again = host.attach(open, alice, { isAcknowledging: true }, { onFrame, onClosed: () => {} });
    await settle();
    expect(credits).toEqual([0]);
    others.end();
    for (const alarm of alarms.splice(0)) alarm();
    await settle();
    expect(credits.at(-1)).toBeGreaterThan(32);
    again.input(input(2, 6));
    await settle();
    expect((await host.status('a-stream-0123456789', alice)).acceptedInput).toBe(2);
  });

  test('what streams keep is given back as it is answered and acknowledged, and all of it at their end', async () => {
    const ledger = limitedLedger();
    const { host } = hostOn(openMemoryJournal(), 'files-1', { ledger, more });
    const credit = { messages: 10, bytes: 10_000 };
    const { link } = clientOf(host, { outputCredit: credit });
    await settle();
    // The stream itself, and its opening.
    const idle = ledger.usedBytes;
    expect(idle).toBeGreaterThan(8 * 1024);
    for (const sequence of [1, 2, 3]) link.input(input(sequence, 1));
    await settle();
    const kept = ledger.usedBytes;
    expect(kept).toBeGreaterThan(idle + 300);
    link.acknowledge({ kind: 'acknowledge', output: 2, outputCredit: credit });
    await settle();
    expect(ledger.usedBytes).toBeLessThan(kept);
    host.drain();
    await settle();
    expect([ledger.usedBytes, ledger.ownerCount]).toEqual([0, 0]);
  });

  test('openings count for their owner, who is refused by name when they take its share; others open streams', async () => {
    const ledger = limitedLedger();
    const { host } = hostOn(openMemoryJournal(), 'files-1', { ledger, more });
    const clients = Array.from({ length: 400 }, () => clientOf(host, { parameters: { note: 'n'.repeat(16_000) } }));
    await settle();
    const refused = clients.filter(({ said }) => said.at(-1) === 'closed caller-full').length;
    expect(refused).toBeGreaterThan(200);
    expect(refused).toBeLessThan(390);
    expect(ledger.usedBytes).toBeLessThan(16 * mebibyte);
    const other = clientOf(host, {}, { caller: 'b', principal: '' });
    await settle();
    expect(other.said).toEqual(['opened next=1 accepted=0']);
  });

  test('a stream that was restored belongs to who opened it: its room, its turns and its memory', async () => {
    const before = hostOn();
    const own = clientOf(before.host, { streamId: 'a-stream-0123456789' });
    await settle();
    expect(own.said).toHaveLength(1);
    const ledger = limitedLedger();
    const limits = { ...more, openPerCallerMax: 1 };
    const { host, model } = hostOn(before.journal, 'files-1', { ledger, more: limits });
    expect(await host.restore(() => {})).toBe(1);
    expect(ledger.guest('a').owner.smallBytes).toBe(ledger.usedBytes);
    const second = clientOf(host, {});
    await settle();
    expect(second.said).toEqual(['closed too-many-streams']);
    const again = clientOf(host, { streamId: 'a-stream-0123456789' }, { caller: 'b', principal: '' });
    again.link.input(input(1, 5));
    await settle();
    expect(outputsOf(again.said)).toEqual(['1: y=5']);
    expect(model.callers.at(-1)).toBe('a');
  });

  test('a stream that was restored is charged to the client that resumes it', async () => {
    const before = hostOn(openMemoryJournal(), 'files-1', { more });
    before.model.isHeld = true;
    const { link } = clientOf(before.host, { streamId: 'a-stream-0123456789' });
    link.input(input(1, 5));
    await settle();
    const ledger = limitedLedger();
    const { host, model } = hostOn(before.journal, 'files-1', { ledger, more });
    model.isHeld = true;
    await host.restore(() => {});
    clientOf(host, { streamId: 'a-stream-0123456789' });
    await settle();
    expect([ledger.ownerCount, ledger.usedBytes > 0]).toEqual([1, true]);
    expect(ledger.guest('a').owner.smallBytes).toBe(ledger.usedBytes);
  });
});

describe('shares of the journal', () => {
  const bob = { caller: 'b', principal: '' };
  const outputCredit = { messages: 100, bytes: 100_000 };
  const smallJournal = () => openMemoryJournal({ bounds: { bytesMax: 64 * 1024 } });
  const host = (more: Partial<StreamSettings> = {}) =>
    hostOn(smallJournal(), 'files-1', {
      outputBytes: 900,
      more: { openMax: 100, openPerCallerMax: 100, retainedBytesMax: 100_000, ...more },
    });
  const look = async (alarms: (() => void)[]): Promise<void> => {
    for (const alarm of alarms.splice(0)) alarm();
    await settle();
  };

  /** A client that sends inputs within its credit and acknowledges none of their outputs, until its stream waits. */
  async function greedyClient(on: ReturnType<typeof hostOn>, inputsMax = 60): Promise<Client & { sent: number }> {
    const client = clientOf(on.host, { streamId: 'a-greedy-stream-0123', outputCredit });
    let sent = 0;
    await settle();
    while (sent < inputsMax && !on.seen.includes('streamPaused')) {
      sent += 1;
      client.link.input(input(sent, 1));
      await settle();
    }
    return { ...client, sent };
  }

  test('a caller that has its share waits, another one goes on, and acknowledging makes room', async () => {
    const on = host();
    const greedy = await greedyClient(on);
    expect(greedy.sent).toBeLessThan(40);
    const answered = outputsOf(greedy.said).length;
    greedy.link.input(input(greedy.sent + 1, 1));
    await look(on.alarms);
    expect(outputsOf(greedy.said).length).toBe(answered);
    const other = clientOf(on.host, { streamId: 'another-stream-0123', outputCredit }, bob);
    for (const sequence of [1, 2, 3, 4]) other.link.input(input(sequence, 1, sequence === 4));
    await settle();
    expect(outputsOf(other.said)).toEqual(['1: y=1', '2: y=2', '3: y=3', '4: y=4']);
    expect(other.said.at(-2)).toBe('ended done');
    greedy.link.acknowledge({ kind: 'acknowledge', output: answered });
    await settle();
    await look(on.alarms);
    expect(outputsOf(greedy.said).at(-1)).toBe(`${greedy.sent + 1}: y=${greedy.sent + 1}`);
    greedy.link.input(input(greedy.sent + 2, 1, true));
    await settle();
    expect(greedy.said.at(-2)).toBe('ended done');
  });

  test('a caller that has its share opens no more streams, and another one does', async () => {
    const on = host();
    await greedyClient(on);
    const second = clientOf(on.host, { streamId: 'a-second-stream-0123' });
    const other = clientOf(on.host, { streamId: 'another-stream-0123' }, bob);
    await settle();
    expect(second.said).toEqual(['closed journal-full']);
    expect(other.said).toEqual(['opened next=1 accepted=0']);
  });

  test('who makes no room for as long as a stream may wait is told by the ending', async () => {
    const on = host({ journalWaitMsMax: 5000 });
    const greedy = await greedyClient(on);
    greedy.link.input(input(greedy.sent + 1, 1));
    await settle();
    on.time.aheadMs = 4000;
    await look(on.alarms);
    expect(greedy.said.join()).not.toContain('ended');
    on.time.aheadMs = 6000;
    await look(on.alarms);
    expect(greedy.said.slice(-2)).toEqual(['ended failed journal-full', 'closed']);
    expect(on.seen).toContain('streamEnded failed journal-full false');
  });

  test('ended streams of a caller make room for its open ones', async () => {
    const on = host();
    for (let count = 0; count < 60; count++) {
      const short = clientOf(on.host, { streamId: `a-short-stream-${count}` });
      short.link.input(input(1, 1, true));
      await settle();
      expect(short.said.at(-2)).toBe('ended done');
      on.time.aheadMs += 2000;
      await look(on.alarms);
    }
    expect((await on.journal.list()).length).toBeLessThan(20);
    expect(on.seen).not.toContain('streamPaused');
  });
});

describe('streams whose restoring kills the router', () => {
  const id = 'a-planted-stream-0123';

  /** A stream that a router left open, and another one. */
  async function leftBehind() {
    const journal = openMemoryJournal();
    const first = hostOn(journal);
    for (const streamId of [id, 'another-stream-0123']) {
      const client = clientOf(first.host, { streamId });
      client.link.input(input(1, 1));
      await settle();
    }
    await journal.writeNote('restores', JSON.stringify({ alone: id, deaths: { [id]: 2 } }));
    return journal;
  }

  test('are ended without being read, and their clients are told; others are restored', async () => {
    const journal = await leftBehind();
    const { host, seen } = hostOn(journal, 'files-1', { earlierEnd: 'crashed' });
    const failed: string[] = [];
    expect(await host.restore((stream, { code }) => failed.push(`${stream} ${code}`))).toBe(1);
    expect(failed).toEqual([`${id} poison-stream`]);
    expect(seen).toContain('streamEnded failed poison-stream false');
    for (const mode of ['resume', 'either'] as const) {
      const client = clientOf(host, { streamId: id, mode, resumeAfter: 1 });
      await settle();
      expect(client.said).toEqual(['opened next=1 accepted=0', 'ended failed poison-stream', 'closed']);
    }
    expect(await host.directory.stream(id)).toMatchObject({ model: 'sum', version: '1', ended: { outcome: 'failed' } });
    const other = clientOf(host, { streamId: 'another-stream-0123', resumeAfter: 1 });
    other.link.input(input(2, 2, true));
    await settle();
    expect(other.said.slice(-2)).toEqual(['ended done', 'closed']);
    expect(await journal.readNote('restores')).toBeUndefined();
  });

  test('a kill from outside does not count', async () => {
    const { host } = hostOn(await leftBehind(), 'files-1', { earlierEnd: 'killed' });
    expect(await host.restore(notFailed)).toBe(2);
    const client = clientOf(host, { streamId: id, resumeAfter: 1 });
    await settle();
    expect(client.said).toEqual(['opened next=2 accepted=1']);
  });

  test('also where the client comes before the server has restored them', async () => {
    const { host } = hostOn(await leftBehind(), 'files-1', { earlierEnd: 'crashed' });
    const client = clientOf(host, { streamId: id, resumeAfter: 1 });
    await settle();
    expect(client.said.slice(-2)).toEqual(['ended failed poison-stream', 'closed']);
  });
});

describe('an append whose outcome is not known', () => {
  /** A journal that fails the next append, creation or note of a client, after it was kept or before. */
  function failingJournal() {
    const journal = openMemoryJournal();
    const fault: { next: 'none' | 'kept' | 'lost' } = { next: 'none' };
    const failed = async <T>(act: () => Promise<T>): Promise<T> => {
      const { next } = fault;
      if (next === 'none') return act();
      fault.next = 'none';
      if (next === 'kept') await act();
      else await new Promise((resolve) => setImmediate(resolve));
      throw new StoreError('store-failed', 'the disk is full');
    };
    const failing: Journal = {
      takeOver: async (stream, owner, options) => {
        const take = () => journal.takeOver(stream, owner, options);
        const log = options?.create === true ? await failed(take) : await take();
        if (log === undefined) return undefined;
        return {
          stream,
          epoch: log.epoch,
          base: log.base,
          expiresAtMs: log.expiresAtMs,
          snapshot: log.snapshot,
          entries: log.entries,
          idle: log.idle,
          noteIdle: (idle) => (idle === undefined ? failed(() => log.noteIdle(idle)) : log.noteIdle(idle)),
          hasShareFor: (bytes) => log.hasShareFor(bytes),
          append: (entries, how) => failed(() => log.append(entries, how)),
          trim: (to, snapshot) => log.trim(to, snapshot),
          tellWhenFenced: (listener) => log.tellWhenFenced(listener),
          close: (how) => log.close(how),
        };
      },
      peek: (stream) => journal.peek(stream),
      list: () => journal.list(),
      readNote: (name) => journal.readNote(name),
      writeNote: (name, text) => journal.writeNote(name, text),
      usage: () => journal.usage(),
      close: () => journal.close(),
    };
    return { journal: failing, fault };
  }
  const look = async (alarms: (() => void)[]): Promise<void> => {
    for (const alarm of alarms.splice(0)) alarm();
    await settle();
  };

  test.each(['kept', 'lost'] as const)(
    'of an input that was %s: the stream is taken over again and goes on',
    async (next) => {
      const { journal, fault } = failingJournal();
      const on = hostOn(journal);
      const client = clientOf(on.host, { streamId: 'a-stream-0123456789' });
      await settle();
      fault.next = next;
      client.link.input(input(1, 1));
      await settle();
      expect(client.said.at(-1)).toBe('closed journal-unavailable');
      expect(on.host.counts).toMatchObject({ attached: 0, detached: 0 });
      await look(on.alarms);
      expect(on.host.counts).toMatchObject({ detached: 1 });
      // Without a client it expires in its time, instead of lying there.
      on.time.aheadMs = 121_000;
      await look(on.alarms);
      await look(on.alarms);
      expect(on.seen).toContain('streamEnded expired stream-expired true');
    },
  );

  test.each(['kept', 'lost'] as const)('of a new stream whose log was %s: nothing is left of it', async (next) => {
    const { journal, fault } = failingJournal();
    const on = hostOn(journal);
    fault.next = next;
    const client = clientOf(on.host, { streamId: 'a-stream-0123456789' });
    await settle();
    expect(client.said).toEqual(['closed journal-unavailable']);
    await look(on.alarms);
    expect(await journal.list()).toEqual([]);
  });

  test.each(['kept', 'lost'] as const)(
    'of the note that a client is back, which was %s: it is not told that the stream is open',
    async (next) => {
      const { journal, fault } = failingJournal();
      const on = hostOn(journal);
      const first = clientOf(on.host, { streamId: 'a-stream-0123456789' });
      await settle();
      first.link.detach();
      await settle();
      fault.next = next;
      const second = clientOf(on.host, { streamId: 'a-stream-0123456789' });
      const other = clientOf(on.host, { streamId: 'a-stream-0123456789' });
      await settle();
      expect(second.said).toEqual(['closed stream-superseded']);
      expect(other.said).toEqual(['closed journal-unavailable']);
      await look(on.alarms);
      expect(on.host.counts).toMatchObject({ detached: 1 });
      const third = clientOf(on.host, { streamId: 'a-stream-0123456789' });
      await settle();
      expect(third.said).toEqual(['opened next=1 accepted=0']);
    },
  );

  test('a client that comes back sooner gets the stream, and it is not taken over twice', async () => {
    const { journal, fault } = failingJournal();
    const on = hostOn(journal);
    const first = clientOf(on.host, { streamId: 'a-stream-0123456789' });
    await settle();
    fault.next = 'kept';
    first.link.input(input(1, 1));
    await settle();
    const second = clientOf(on.host, { streamId: 'a-stream-0123456789' });
    await look(on.alarms);
    second.link.input(input(2, 2, true));
    await settle();
    expect(second.said[0]).toBe('opened next=1 accepted=1');
    expect(outputsOf(second.said)).toEqual(['1: y=1', '2: y=3']);
    expect(second.said.at(-2)).toBe('ended done');
  });
});

describe('an input that the model does not take', () => {
  const wrong = (sequence: number): InputFrame => ({
    ...input(sequence, 1),
    payload: { kind: 'tensors', tensors: [{ ...byte('x', 1), datatype: 'FP32' }] },
  });

  test('is refused before it is accepted, whether the stream is known yet or not, and the stream goes on', async () => {
    const { host, model } = hostOn();
    const first = clientOf(host, { streamId: 'a-stream-0123456789' });
    first.link.input(wrong(1));
    await settle();
    expect(first.said).toEqual(['closed invalid-request']);
    const second = clientOf(host, { streamId: 'a-stream-0123456789' });
    await settle();
    second.link.input(input(1, 1));
    second.link.input(wrong(2));
    second.link.input(input(3, 3));
    await settle();
    expect(second.said).toEqual(['opened next=1 accepted=0', 'closed invalid-request']);
    const third = clientOf(host, { streamId: 'a-stream-0123456789' });
    third.link.input(input(2, 2));
    third.link.input(input(3, 3, true));
    await settle();
    expect(third.said[0]).toBe('opened next=1 accepted=1');
    expect(outputsOf(third.said)).toEqual(['1: y=1', '2: y=3', '3: y=6']);
    expect(third.said.at(-2)).toBe('ended done');
    expect(model.asked).toEqual([]);
  });

  test('names itself and what to do, also in a call of its own', async () => {
    const { host } = hostOn();
    clientOf(host, { streamId: 'a-stream-0123456789' });
    await settle();
    await expect(host.input('a-stream-0123456789', wrong(1), alice, neverCancelled)).rejects.toMatchObject({
      code: 'invalid-request',
      message:
        '[input 1] x is no UINT8; input 1 was not accepted, and the stream goes on: send it corrected, under the same number',
    });
    expect(await host.input('a-stream-0123456789', input(1, 1), alice, neverCancelled)).toMatchObject({ input: 1 });
  });

  test('that names the state of the model is refused as well', async () => {
    const { host } = hostOn();
    const client = clientOf(host, {});
    await settle();
    client.link.input({ ...input(1, 1), payload: { kind: 'tensors', tensors: [byte('x', 1), byte('state', 9)] } });
    await settle();
    expect(client.said.at(-1)).toBe('closed invalid-request');
  });
});

test('operators may name a stream by the beginning of its id, but not to cancel it', async () => {
  const { host, journal } = hostOn();
  clientOf(host, { streamId: 'abc-first-0123456789' });
  clientOf(host, { streamId: 'abd-second-012345678' });
  await settle();
  expect((await host.directory.stream('abc')).id).toBe('abc-first-0123456789');
  await expect(host.directory.stream('ab')).rejects.toMatchObject({
    code: 'invalid-request',
    message: '2 streams have ids that begin with ab; write more of the id',
  });
  for (const id of ['x', ''])
    await expect(host.directory.stream(id)).rejects.toMatchObject({ code: 'stream-not-found' });
  await expect(host.directory.cancelStream('abc', '')).rejects.toMatchObject({ code: 'stream-not-found' });
  // Also one that only lies in the journal.
  expect((await hostOn(journal).host.directory.stream('abd')).isOwned).toBe(false);
});
