/** A WebSocket connection that opens a durable stream and stays silent, apart from pings. Masks are zero: the server must not care. */
import { connect, type Socket } from 'node:net';
import { httpStreamPath } from '../stream-messages.ts';

const opcode = { text: 1, ping: 9, pong: 10 } as const;

export class IdleSocket {
  readonly #socket: Socket;
  readonly #onOpened: () => void;
  #held: Buffer = Buffer.alloc(0);
  #isUpgraded: boolean = false;

  constructor(port: number, context: string, onOpened: () => void) {
    this.#onOpened = onOpened;
    this.#socket = connect(port, '127.0.0.1');
    this.#socket.setNoDelay(true);
    this.#socket.write(
      [
        `GET ${httpStreamPath} HTTP/1.1`,
        `host: 127.0.0.1:${port}`,
        'connection: upgrade',
        'upgrade: websocket',
        'sec-websocket-version: 13',
        'sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==',
        'sec-websocket-protocol: millrace.v1+json',
        '\r\n',
      ].join('\r\n'),
    );
    this.#socket.on('data', (bytes) => this.#read(bytes, context));
    this.#socket.on('close', () => {
      throw new Error('the server has closed a connection that should stay open');
    });
  }

  ping(): void {
    this.#send(opcode.ping, Buffer.alloc(0));
  }

  #read(arrived: Buffer, context: string): void {
    this.#held = this.#held.length === 0 ? arrived : Buffer.concat([this.#held, arrived]);
    if (!this.#isUpgraded) {
      const end = this.#held.indexOf('\r\n\r\n');
      if (end === -1) return;
      const head = this.#held.toString('latin1', 0, end);
      if (!head.startsWith('HTTP/1.1 101')) throw new Error(`the server did not upgrade: ${head}`);
      this.#isUpgraded = true;
      this.#held = this.#held.subarray(end + 4);
      this.#send(opcode.text, Buffer.from(JSON.stringify({ open: { context } })));
    }
    while (this.#takeFrame());
  }

  #takeFrame(): boolean {
    const bytes = this.#held;
    // A ping of the server has no more than these two: one that is not answered has it close the connection.
    if (bytes.length < 2) return false;
    const short = (bytes[1] as number) & 127;
    // Nothing that an idle stream is sent is longer than 64 KiB.
    const start = short === 126 ? 4 : 2;
    if (bytes.length < start) return false;
    const length = short === 126 ? bytes.readUInt16BE(2) : short;
    if (bytes.length < start + length) return false;
    const payload = bytes.subarray(start, start + length);
    const kind = (bytes[0] as number) & 15;
    if (kind === opcode.ping) this.#send(opcode.pong, payload);
    else if (kind === opcode.text) {
      if (!payload.toString('latin1').startsWith('{"opened"')) throw new Error(`the server sent ${payload}`);
      this.#onOpened();
    } else if (kind !== opcode.pong) throw new Error(`the server sent a frame with the opcode ${kind}`);
    this.#held = bytes.subarray(start + length);
    return true;
  }

  #send(kind: number, payload: Buffer): void {
    const head = Buffer.from([128 | kind, 128 | payload.length, 0, 0, 0, 0]);
    this.#socket.write(Buffer.concat([head, payload]));
  }
}
