/** What runs in the browser. run.mjs calls it, and answers `disturb` and `cancelledStreams`. */
import {
  connectTransport,
  createClient,
  eventTransport,
  grpcWebTransport,
  MillraceError,
  type StreamPosition,
  webSocketTransport,
} from '@millrace/client';
import { audioChunks, microphoneChunks } from '@millrace/client/audio';
import { clientContract } from '../../contracts/client/client-contract.ts';
import { type StreamFault, streamThroughFaults } from '../../contracts/client/disturbed-stream.ts';
import { runningTotal } from '../../support/running-total-name.ts';
import { runTests } from './page-tests.ts';

declare function disturb(fault: StreamFault): Promise<void>;
declare function cancelledStreams(): Promise<number>;

const transports = {
  WebSocket: webSocketTransport,
  events: eventTransport,
  Connect: connectTransport,
  'gRPC-Web': grpcWebTransport,
};
type TransportName = keyof typeof transports;

/** Failures that nobody waits for: a client has none. */
const unhandled: string[] = [];
addEventListener('unhandledrejection', ({ reason }) => unhandled.push(String(reason)));
addEventListener('error', ({ message }) => unhandled.push(message));

function contract(url: string, transport: TransportName, listsModels: boolean) {
  clientContract(transport, transports[transport], () => ({ url, listsModels, cancelledStreams }));
  return runTests();
}

async function disturbed(url: string, transport: TransportName) {
  const client = createClient(url, { transport: transports[transport]() });
  try {
    return await streamThroughFaults(client, disturb);
  } finally {
    client.close();
  }
}

/** What a page gets that chooses no transport: the total of one input, how many sockets were opened for it, and the path of its stream. */
async function chosen(url: string, headers: Record<string, string> | undefined) {
  const { WebSocket: Platform } = globalThis;
  let sockets = 0;
  globalThis.WebSocket = class extends Platform {
    constructor(...given: ConstructorParameters<typeof Platform>) {
      super(...given);
      sockets += 1;
    }
  };
  // Not from the timings of the page: Firefox lists a request there some time after its end.
  const { fetch: platformFetch } = globalThis;
  const paths: string[] = [];
  globalThis.fetch = (input, init) => {
    paths.push(new URL(input instanceof Request ? input.url : input).pathname);
    return platformFetch(input, init);
  };
  const client = createClient(url, headers === undefined ? {} : { headers });
  const stream = client.stream(runningTotal);
  await stream.sendLast(value(3));
  const totals: unknown[] = [];
  for await (const { tensors } of stream) totals.push(tensors.total?.data[0]);
  globalThis.WebSocket = Platform;
  globalThis.fetch = platformFetch;
  const isConnect = paths.includes('/millrace.v1.InferenceService/Stream');
  return { totals, sockets, isConnect, isReady: await client.ready() };
}

const value = (one: number) => ({ value: { shape: [1, 1], data: Float32Array.of(one) } });

interface Kept {
  readonly totals: unknown[];
  readonly position: StreamPosition;
}
const keptKey = 'stream';

/** What was handled, and the position after it, are stored together. */
function keep(totals: unknown[], position: StreamPosition): void {
  sessionStorage.setItem(keptKey, JSON.stringify({ totals, position }));
}

let reading: Promise<unknown> | undefined;

/** Begins a stream, or goes on with the one that was kept, up to this input. Resolves when this many outputs were kept; outputs go on. */
async function read(url: string, transport: TransportName, inputs: number, isEnd: boolean, atLeast: number) {
  const kept = JSON.parse(sessionStorage.getItem(keptKey) ?? '{"totals":[]}') as Kept;
  const client = createClient(url, { transport: transports[transport]() });
  const stream = client.stream(runningTotal, { resume: kept.position });
  // Inputs that the server does not have are the page's to send again.
  const accepted = await stream.opened();
  let enough = (): void => {};
  const isEnough = new Promise<void>((resolve) => {
    enough = resolve;
  });
  reading = (async () => {
    for await (const { tensors, sequence } of stream) {
      kept.totals.push(tensors.total?.data[0]);
      keep(kept.totals, { ...stream.position, output: sequence });
      if (kept.totals.length >= atLeast) enough();
    }
    return kept.totals;
  })();
  for (let input = accepted + 1; input <= inputs; input++) {
    await (isEnd && input === inputs ? stream.sendLast(value(input)) : stream.send(value(input)));
  }
  await Promise.race([isEnough, reading]);
  return accepted;
}

const readAll = () => reading;

let connections = 0;
let outcome: Promise<string> | undefined;
let position: StreamPosition | undefined;
let seen: unknown[] = [];

/** A tab on a stream: begins one, or takes over what another has. Resolves with the position after its next output. */
async function tab(url: string, transport: TransportName, resume: StreamPosition | undefined, one: number) {
  connections = 0;
  seen = [];
  const client = createClient(url, {
    transport: transports[transport](),
    observe: ({ kind }) => {
      if (kind === 'stream-connecting') connections += 1;
    },
  });
  const stream = client.stream(runningTotal, resume === undefined ? {} : { resume });
  await stream.send(value(one));
  const outputs = stream[Symbol.asyncIterator]();
  const first = await outputs.next();
  seen.push(first.value?.tensors.total?.data[0]);
  position = { ...stream.position, output: first.value?.sequence ?? 0, input: first.value?.inputSequence ?? 0 };
  outcome = (async () => {
    try {
      for (let next = await outputs.next(); next.done !== true; next = await outputs.next()) {
        seen.push(next.value.tensors.total?.data[0]);
      }
      return 'done';
    } catch (error) {
      return error instanceof MillraceError ? error.code : String(error);
    }
  })();
  sendMore = (last) => stream.sendLast(value(last));
  return position;
}
let sendMore: (last: number) => Promise<void>;

async function tabEnd() {
  return { outcome: await outcome, connections, seen };
}

async function failure(url: string, transport: TransportName) {
  const client = createClient(url, { transport: transports[transport](), serviceConfig: {} });
  try {
    await client.ready({ deadlineMs: 2000 });
    return 'it succeeded';
  } catch (error) {
    return error instanceof MillraceError ? `${error.code}: ${error.message}` : String(error);
  }
}

/** Sound of 1 kHz through a MediaStream, as chunks of 20 ms at 16 kHz, until this many of them have the tone in full and nothing else. */
async function tone(chunks: number) {
  const context = new AudioContext();
  const oscillator = new OscillatorNode(context, { frequency: 1000 });
  const destination = context.createMediaStreamDestination();
  oscillator.connect(destination);
  oscillator.start();
  let [good, dropped] = [0, 0];
  const sound = await audioChunks(destination.stream, {
    sampleRate: 16_000,
    chunkSamples: 320,
    onDropped: (count) => {
      dropped += count;
    },
  });
  for await (const chunk of sound) {
    if (chunk.length === 320 && isTone(chunk)) good += 1;
    if (good === chunks) sound.stop();
  }
  await context.close();
  return { good, dropped, ended: true };
}

/** The state of the microphone while it is listened to, and after the iteration was left. */
async function microphone(chunks: number) {
  const { mediaDevices } = navigator;
  const tracks: MediaStreamTrack[] = [];
  const opened = mediaDevices.getUserMedia.bind(mediaDevices);
  mediaDevices.getUserMedia = async (constraints) => {
    const media = await opened(constraints);
    tracks.push(...media.getTracks());
    return media;
  };
  const states: string[] = [];
  let left = chunks;
  for await (const { length } of await microphoneChunks({ sampleRate: 16_000, chunkSamples: 160 })) {
    left -= length / 160;
    if (left > 0) continue;
    states.push(...tracks.map(({ readyState }) => readyState));
    break;
  }
  states.push(...tracks.map(({ readyState }) => readyState));
  const silent = await audioChunks(new MediaStream(), { sampleRate: 16_000, chunkSamples: 160 }).catch(String);
  return { states, silent };
}

/** Whether these samples, 16 a period, are a sine of amplitude 1 and any phase. */
function isTone(samples: Float32Array): boolean {
  const angle = (at: number) => (2 * Math.PI * at) / 16;
  const dot = (wave: (angle: number) => number) =>
    (2 / samples.length) * samples.reduce((sum, sample, at) => sum + sample * wave(angle(at)), 0);
  const [sine, cosine] = [dot(Math.sin), dot(Math.cos)];
  const off = samples.map((sample, at) => sample - sine * Math.sin(angle(at)) - cosine * Math.cos(angle(at)));
  return Math.abs(Math.hypot(sine, cosine) - 1) < 0.02 && off.every((one) => Math.abs(one) < 0.02);
}

Object.assign(globalThis, {
  page: {
    contract,
    disturbed,
    chosen,
    read,
    readAll,
    tab,
    tabLast: (last: number) => sendMore(last),
    tabEnd,
    failure,
    tone,
    microphone,
    unhandled: () => unhandled,
  },
});
