/** Many connections over HTTP/1.1 from chosen addresses of this machine, each kept and used again. */
import { connect, type Socket } from 'node:net';

const request = 'GET /v2/health/live HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n';
/** So that no listen backlog overflows. */
const dialingMax = 64;

export class KeptConnection {
  readonly socket: Socket;
  /** Why it ended, once it has. */
  ending: string | undefined = undefined;
  #heard = '';
  #onAnswer: ((status: number) => void) | undefined;

  constructor(url: string, localAddress: string) {
    const { hostname, port } = new URL(url);
    this.socket = connect({ host: hostname, port: Number(port), localAddress });
    this.socket.on('data', (piece: Buffer) => this.#hear(piece.toString('latin1')));
    this.socket.on('error', (error) => {
      this.ending ??= error.message;
    });
    this.socket.on('close', () => {
      this.ending ??= 'closed by the server';
      this.#onAnswer?.(0);
    });
  }

  get isOpen(): boolean {
    return this.ending === undefined;
  }

  /** Resolves when it is connected or refused. */
  async connected(): Promise<void> {
    if (!this.socket.connecting) return;
    await new Promise<void>((resolve) => {
      this.socket.once('connect', resolve);
      this.socket.once('close', () => resolve());
    });
  }

  /** The status of one request, 0 when the connection ended instead. */
  ask(): Promise<number> {
    if (!this.isOpen) return Promise.resolve(0);
    return new Promise((resolve) => {
      this.#onAnswer = resolve;
      this.socket.write(request);
    });
  }

  /** Answers to this request have no body. */
  #hear(text: string): void {
    this.#heard += text;
    if (!this.#heard.includes('\r\n\r\n')) return;
    const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(this.#heard)?.[1]);
    this.#heard = '';
    this.#onAnswer?.(status);
  }
}

/** Dials so many connections from each address; resolves when all are connected or refused. */
export async function dialCrowd(
  url: string,
  addresses: readonly string[],
  connectionsEach: number,
): Promise<readonly KeptConnection[]> {
  const crowd: KeptConnection[] = [];
  const wanted = addresses.length * connectionsEach;
  while (crowd.length < wanted) {
    const next = Array.from(
      { length: Math.min(dialingMax, wanted - crowd.length) },
      (_, index) => new KeptConnection(url, addresses[(crowd.length + index) % addresses.length] as string),
    );
    await Promise.all(next.map((one) => one.connected()));
    crowd.push(...next);
  }
  return crowd;
}

/** Asks each once, some at a time; how many answered each status. */
export async function askAll(crowd: readonly KeptConnection[]): Promise<Readonly<Record<number, number>>> {
  const statuses: Record<number, number> = {};
  for (let at = 0; at < crowd.length; at += dialingMax) {
    for (const status of await Promise.all(crowd.slice(at, at + dialingMax).map((one) => one.ask()))) {
      statuses[status] = (statuses[status] ?? 0) + 1;
    }
  }
  return statuses;
}

export function leave(crowd: readonly KeptConnection[]): void {
  for (const { socket } of crowd) socket.destroy();
}

/** `127.0.PART.1` and so on: every address of 127.0.0.0/8 is this machine's. */
export function loopbackAddresses(part: number, count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `127.0.${part}.${index + 1}`);
}
