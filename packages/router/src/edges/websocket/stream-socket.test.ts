import type { WebSocketConnection } from '@millrace/http/websocket';
import { InferenceError, type OpenFrame } from '@millrace/protocol';
import { expect, test } from 'vitest';
import type {
  AttachedLink,
  StreamGateway,
  StreamLinkFrame,
  StreamListenerOfLink,
} from '../../streams/stream-gateway.ts';
import { SliceQueue } from '../slices/slice-queue.ts';
import { payloadCodec } from '../streams/link-frame.ts';
import { StreamSocket } from './stream-socket.ts';
import { jsonSubprotocol, protoSubprotocol } from './subprotocols.ts';

/** Notes what is sent: texts, or `text of 5000` for a long one, `binary 3` for bytes, and `close 1000 reason`. */
class ScriptedConnection implements WebSocketConnection {
  readonly subprotocol: string;
  readonly peer = { owner: 'a' } as WebSocketConnection['peer'];
  readonly unsentBytes = 0;
  readonly said: string[] = [];
  isBusy: boolean = false;
  hasRoom: boolean = true;
  isPaused: boolean = false;
  heldBytes = 0;

  constructor(subprotocol: string) {
    this.subprotocol = subprotocol;
  }

  send(data: Uint8Array | string): boolean {
    this.said.push(`binary ${data.length}`);
    return this.hasRoom;
  }

  sendText(utf8: Uint8Array): boolean {
    const text = Buffer.from(utf8).toString();
    this.said.push(text.length > 200 ? `text of ${text.length}` : text);
    return this.hasRoom;
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
  }

  hold(bytes: number): void {
    this.heldBytes += bytes;
  }

  give(bytes: number): void {
    this.heldBytes -= bytes;
  }

  close(code?: number, reason?: string): void {
    this.said.push(`close ${code} ${reason}`);
  }
}

/** A gateway whose streams do what a test says. */
class ScriptedGateway implements Pick<StreamGateway, 'attach'> {
  /** What it was told: `open m`, `input 1`, `taken 64`, `detach`. */
  readonly heard: string[] = [];
  listener: StreamListenerOfLink | undefined;

  attach(open: OpenFrame, _caller: unknown, _options: unknown, listener: StreamListenerOfLink): AttachedLink {
    this.heard.push(`open ${open.context}`);
    this.listener = listener;
    return {
      input: ({ sequence }) => this.heard.push(`input ${sequence}`),
      acknowledge: ({ output }) => this.heard.push(`acknowledge ${output}`),
      cancel: () => this.heard.push('cancel'),
      taken: (output) => this.heard.push(`taken ${output}`),
      detach: () => this.heard.push('detach'),
      finish: () => this.heard.push('finish'),
    };
  }

  give(frame: StreamLinkFrame): void {
    this.listener?.onFrame(frame);
  }
}

function socketOn(subprotocol: string = jsonSubprotocol) {
  const connection = new ScriptedConnection(subprotocol);
  const gateway = new ScriptedGateway();
  const later: (() => void)[] = [];
  const errors: unknown[] = [];
  const socket = new StreamSocket(
    connection,
    { caller: 'a', principal: '' },
    {
      gateway: gateway as unknown as StreamGateway,
      slices: new SliceQueue((run) => later.push(run)),
      onError: (error) => errors.push(error),
    },
  );
  return {
    connection,
    gateway,
    socket,
    errors,
    say: (frame: object) => socket.onMessage(Buffer.from(JSON.stringify(frame)), false),
    /** Lets all work in slices be done, and its promises settle. */
    settle: async () => {
      do {
        later.shift()?.();
        await new Promise((resolve) => setImmediate(resolve));
      } while (later.length > 0);
    },
  };
}

function openedSocket(subprotocol?: string) {
  const parts = socketOn(subprotocol);
  parts.say({ open: { context: 'm' } });
  parts.gateway.give(openedFrame);
  parts.connection.said.length = 0;
  parts.gateway.heard.length = 0;
  return parts;
}

const openedFrame: StreamLinkFrame = {
  kind: 'opened',
  streamId: 's',
  epoch: 1,
  model: 'm',
  version: '1',
  protocolVersion: 1,
  acceptedInput: 0,
  nextOutput: 1,
  inputCredit: { messages: 8, bytes: 100 },
  warnings: [],
};

function output(sequence: number, text = 'x'): StreamLinkFrame {
  const payload = payloadCodec.encodeOutput({ kind: 'text', text });
  return { kind: 'output', sequence, inputSequence: 1, payload, endOfOutput: false };
}

const longText = 'y'.repeat(40_000);

test('reads nothing between open and opened, and is busy from open on', () => {
  const { connection, gateway, say } = socketOn();
  expect([connection.isBusy, connection.isPaused]).toEqual([false, false]);
  say({ open: { context: 'm' } });
  expect([connection.isBusy, connection.isPaused, gateway.heard]).toEqual([true, true, ['open m']]);
  gateway.give(openedFrame);
  expect(connection.isPaused).toBe(false);
  say({ input: { sequence: 1, text: 'a' } });
  say({ acknowledge: { output: 3 } });
  say({ cancel: {} });
  expect(gateway.heard).toEqual(['open m', 'input 1', 'acknowledge 3', 'cancel']);
  expect(connection.said).toHaveLength(1);
});

test('a refused open closes with the code of the error, and the reason names it', () => {
  const { connection, gateway, say } = socketOn();
  say({ open: { context: 'nobody' } });
  gateway.listener?.onClosed(new InferenceError('unknown-model', 'there is no model nobody'));
  expect(connection.said).toEqual(['close 4007 unknown-model: there is no model nobody']);
});

test('ended is followed by a normal close', () => {
  const { connection, gateway } = openedSocket();
  gateway.give({ kind: 'ended', outcome: 'done', message: '', outputs: 0 });
  gateway.listener?.onClosed(undefined);
  expect(connection.said).toEqual(['{"ended":{"outcome":"done","outputs":0}}', 'close 1000 the stream has ended']);
});

test('protobuf is sent as binary messages', () => {
  const { connection, gateway, socket } = socketOn(protoSubprotocol);
  // ClientFrame { open { context: "m" } }
  socket.onMessage(Uint8Array.of(0x0a, 0x03, 0x1a, 0x01, 0x6d), true);
  gateway.give(output(1));
  expect(gateway.heard).toEqual(['open m']);
  expect(connection.said).toEqual(['binary 9']);
});

test('frames behind one that is written in slices wait for it, and so does the close', async () => {
  const { connection, gateway, settle } = openedSocket();
  gateway.give(output(1, longText));
  gateway.give(output(2));
  gateway.give(output(3, longText));
  gateway.give({ kind: 'ended', outcome: 'done', message: '', outputs: 3 });
  gateway.listener?.onClosed(undefined);
  expect(connection.said).toEqual([]);
  expect(connection.heldBytes).toBeGreaterThan(80_000);
  await settle();
  expect(connection.said).toEqual([
    'text of 40053',
    '{"output":{"sequence":2,"inputSequence":1,"text":"x"}}',
    'text of 40053',
    '{"ended":{"outcome":"done","outputs":3}}',
    'close 1000 the stream has ended',
  ]);
  expect(connection.heldBytes).toBe(0);
});

test('a long message is read in slices while no other is delivered, and its memory is counted', async () => {
  const { connection, gateway, say, settle } = openedSocket();
  say({ input: { sequence: 1, text: 'z'.repeat(70_000) } });
  expect([connection.isPaused, gateway.heard]).toEqual([true, []]);
  expect(connection.heldBytes).toBeGreaterThan(70_000);
  await settle();
  expect([connection.isPaused, gateway.heard, connection.heldBytes]).toEqual([false, ['input 1'], 0]);
});

test('a long message that is malformed closes the connection and detaches the stream', async () => {
  const { connection, gateway, socket, settle } = openedSocket();
  socket.onMessage(Buffer.from(`{"input":{"text":"${'z'.repeat(70_000)}"`), false);
  await settle();
  expect(gateway.heard).toEqual(['detach']);
  expect(connection.said).toEqual([expect.stringMatching(/^close 4001 invalid-request: .*JSON at line 1/)]);
});

test('credit is renewed only after the client has read', () => {
  const { connection, gateway, socket } = openedSocket();
  connection.hasRoom = false;
  for (let sequence = 1; sequence <= 100; sequence++) gateway.give(output(sequence));
  expect(gateway.heard).toEqual([]);
  connection.hasRoom = true;
  socket.onDrain();
  expect(gateway.heard).toEqual(['taken 100']);
});

test('credit is not renewed while a frame is written in slices', async () => {
  const { gateway, socket, settle } = openedSocket();
  gateway.give(output(1, longText));
  socket.onDrain();
  expect(gateway.heard).toEqual([]);
  await settle();
  expect(gateway.heard).toEqual(['taken 1']);
});

test('a lost connection detaches the stream and ends work in slices', async () => {
  const { connection, gateway, socket, settle, errors } = openedSocket();
  gateway.give(output(1, longText));
  socket.onClose();
  await settle();
  expect(gateway.heard).toEqual(['detach']);
  expect([connection.said, errors]).toEqual([[], []]);
});

test('a connection that goes away by age sends draining, and detaches', () => {
  const { connection, gateway, socket } = openedSocket();
  socket.onGoingAway();
  expect(connection.said).toEqual([expect.stringMatching(/^\{"draining":\{"message":".*resume the stream"/)]);
  expect(gateway.heard).toEqual(['detach']);
});

test('draining is sent once when the stream was told before, and again when that frame still waits', async () => {
  const draining: StreamLinkFrame = { kind: 'draining', message: 'bye' };
  const told = openedSocket();
  told.gateway.give(draining);
  told.socket.onGoingAway();
  expect(told.connection.said).toEqual(['{"draining":{"message":"bye"}}']);
  const waiting = openedSocket();
  waiting.gateway.give(output(1, longText));
  waiting.gateway.give(draining);
  waiting.socket.onGoingAway();
  expect(waiting.connection.said).toEqual([expect.stringContaining('{"draining"')]);
});

test('a connection without a stream goes away without a frame', () => {
  const { connection, socket } = socketOn();
  socket.onGoingAway();
  expect(connection.said).toEqual([]);
});

test('an unexpected error is reported, and the client learns only that there was one', () => {
  const { connection, gateway, say, errors } = socketOn();
  const bug = new TypeError('a bug with secrets');
  gateway.attach = () => {
    throw bug;
  };
  say({ open: { context: 'm' } });
  expect(errors).toEqual([bug]);
  expect(connection.said).toEqual(['close 1011 internal: the server failed on this frame; its log says why']);
});
