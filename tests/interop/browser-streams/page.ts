/** What runs in the browser: a stream that is listened to over each transport, and resumed over it when the connection is lost. */
import { createClient, type Transport } from '@connectrpc/connect';
import { createConnectTransport, createGrpcWebTransport } from '@connectrpc/connect-web';
import { InferenceService, type Tensor } from './generated/millrace/v1/inference_pb';

/** How long a page waits before it tries again what failed. */
const retryMs = 50;

/** The outputs of one stream: what they were, in order, and how often the connection was made. */
class Outputs {
  readonly values: number[] = [];
  connections = 0;
  outcome: string | undefined;
  #waiting: (() => void)[] = [];

  add(sequence: number, value: number): void {
    if (sequence !== this.values.length + 1) throw new Error(`output ${sequence} follows ${this.values.length}`);
    this.values.push(value);
    this.#wake();
  }

  end(outcome: string): void {
    this.outcome = outcome;
    this.#wake();
  }

  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

interface JsonOutput {
  readonly sequence: number;
  readonly tensors: readonly { readonly data: readonly number[] }[];
}

function addJson(outputs: Outputs, { sequence, tensors }: JsonOutput): void {
  outputs.add(sequence, tensors[0]?.data[0] ?? Number.NaN);
}

/** Resolves when the stream has ended and the transport has stopped by itself. */
type Listen = (apiUrl: string, stream: string, outputs: Outputs) => Promise<void>;

/** It connects again by itself, and is stopped by 204: nothing here closes it. */
const listenByEvents: Listen = (apiUrl, stream, outputs) =>
  new Promise((resolve, reject) => {
    const source = new EventSource(`${apiUrl}/v1/streams/${stream}`);
    source.addEventListener('opened', () => {
      outputs.connections += 1;
    });
    source.addEventListener('output', ({ data }) => addJson(outputs, JSON.parse(data)));
    source.addEventListener('ended', ({ data }) => outputs.end(JSON.parse(data).outcome));
    source.addEventListener('error', () => {
      if (source.readyState !== EventSource.CLOSED) return;
      if (outputs.outcome === undefined) reject(new Error('the EventSource gave up before the end'));
      else resolve();
    });
  });

const listenBySocket: Listen = async (apiUrl, stream, outputs) => {
  while (outputs.outcome === undefined) {
    await new Promise<void>((resolve) => {
      const socket = new WebSocket(`${apiUrl.replace(/^http/, 'ws')}/v1/streams`, 'millrace.v1+json');
      socket.onopen = () => {
        const resumeAfter = outputs.values.length;
        socket.send(JSON.stringify({ open: { streamId: stream, mode: 'resume', resumeAfter } }));
      };
      socket.onmessage = ({ data }) => {
        const frame = JSON.parse(data);
        if (frame.opened !== undefined) outputs.connections += 1;
        if (frame.output !== undefined) addJson(outputs, frame.output);
        if (frame.ended !== undefined) outputs.end(frame.ended.outcome);
      };
      socket.onclose = () => resolve();
    });
    if (outputs.outcome === undefined) await pause();
  }
};

/** A call can send only before it receives: it repeats the first input, which the stream has, and only listens. */
const listenByCall =
  (create: (baseUrl: string) => Transport): Listen =>
  async (apiUrl, stream, outputs) => {
    const client = createClient(InferenceService, create(apiUrl));
    while (outputs.outcome === undefined) {
      try {
        const open = { streamId: stream, mode: 'resume', resumeAfter: BigInt(outputs.values.length) };
        for await (const { frame } of client.generate({ open, input: { sequence: 1n } })) {
          if (frame.case === 'opened') outputs.connections += 1;
          if (frame.case === 'output') outputs.add(Number(frame.value.sequence), numberFrom(frame.value.tensors[0]));
          if (frame.case === 'ended') outputs.end(frame.value.outcome);
        }
      } catch {
        await pause();
      }
    }
  };

function numberFrom(tensor: Tensor | undefined): number {
  if (tensor === undefined) return Number.NaN;
  if (tensor.raw.length > 0) return new DataView(tensor.raw.buffer, tensor.raw.byteOffset).getFloat32(0, true);
  const element = tensor.data?.values[0]?.kind;
  return element?.case === 'numberValue' ? element.value : Number.NaN;
}

const listens: Readonly<Record<string, Listen>> = {
  EventSource: listenByEvents,
  WebSocket: listenBySocket,
  'gRPC-Web': listenByCall((baseUrl) => createGrpcWebTransport({ baseUrl })),
  'Connect with JSON': listenByCall((baseUrl) => createConnectTransport({ baseUrl })),
  'Connect with protobuf': listenByCall((baseUrl) => createConnectTransport({ baseUrl, useBinaryFormat: true })),
};

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, retryMs));
}

/** Repeated until it is answered: an input that was accepted before is only confirmed. */
async function post(url: string, body: object): Promise<Record<string, unknown>> {
  for (;;) {
    try {
      const headers = { 'content-type': 'application/json' };
      const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
      if (answer.ok) return (await answer.json()) as Record<string, unknown>;
      if (answer.status < 500) throw new TypeError(`${url} answered ${answer.status}: ${await answer.text()}`);
    } catch (error) {
      if (error instanceof TypeError && error.message.includes('answered')) throw error;
    }
    await pause();
  }
}

interface Running {
  readonly inputsUrl: string;
  readonly outputs: Outputs;
  readonly over: Promise<void>;
  sent: number;
}
const running = new Map<string, Running>();

/** Whether the server speaks WebSocket. */
function hasWebSocket(apiUrl: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = new WebSocket(`${apiUrl.replace(/^http/, 'ws')}/v1/streams`, 'millrace.v1+json');
    socket.onopen = () => {
      socket.close();
      resolve(true);
    };
    socket.onerror = () => resolve(false);
  });
}

function inputOf(sequence: number, isLast: boolean): object {
  const tensors = [{ name: 'value', datatype: 'FP32', shape: [1, 1], data: [sequence / 8] }];
  return { sequence, tensors, end_of_input: isLast };
}

/** Opens a stream with its first input, and listens to it. */
async function begin(apiUrl: string, context: string, transport: string): Promise<void> {
  const { streamId } = await post(`${apiUrl}/v1/streams`, { context, input: inputOf(1, false) });
  const outputs = new Outputs();
  const over = (listens[transport] as Listen)(apiUrl, String(streamId), outputs);
  running.set(transport, { inputsUrl: `${apiUrl}/v1/streams/${streamId}/inputs`, outputs, over, sent: 1 });
}

/** Sends inputs up to this one, and resolves when their outputs are there. */
async function sendTo(transport: string, last: number, isEnd: boolean): Promise<void> {
  const stream = running.get(transport) as Running;
  while (stream.sent < last) {
    const sequence = stream.sent + 1;
    await post(stream.inputsUrl, inputOf(sequence, isEnd && sequence === last));
    stream.sent = sequence;
  }
  await Promise.race([stream.outputs.until(() => stream.outputs.values.length >= last), failure(stream)]);
  if (!isEnd) return;
  await stream.over;
}

/** Rejects where the transport gave up. */
async function failure({ over, outputs }: Running): Promise<void> {
  await over;
  if (outputs.outcome === undefined) throw new Error('the transport stopped before the end');
}

function resultOf(transport: string): { values: readonly number[]; outcome: string; connections: number } {
  const { values, outcome = '', connections } = (running.get(transport) as Running).outputs;
  return { values, outcome, connections };
}

Object.assign(globalThis, {
  browserStreams: { transports: Object.keys(listens), hasWebSocket, begin, sendTo, resultOf },
});
