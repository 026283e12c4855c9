/** The server from an attacker's view: ports, the attacker's own address, and whether the attack is over. */
import { readFileSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { Fate } from './fate.ts';

export interface TargetPorts {
  readonly http: number;
  readonly grpc: number;
  readonly metrics: number;
}

export interface TargetLocation {
  readonly ports: TargetPorts;
  readonly routerPid: number;
  readonly isTls: boolean;
  /** Where the attacker comes from. */
  readonly address: string;
  /** Makes random choices repeatable. */
  readonly seed: number;
}

export class Target {
  readonly host = '127.0.0.1';
  readonly location: TargetLocation;
  readonly fate = new Fate();
  readonly #sockets = new Set<Socket>();
  readonly #deaf = new Set<Socket>();
  #established = 0;
  #isOver: boolean = false;

  constructor(location: TargetLocation) {
    this.location = location;
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** How many connections the attack has established; the bystanders are measured when they are enough. */
  get established(): number {
    return this.#established;
  }

  nowEstablished(): void {
    this.#established++;
  }

  /** A connection that reads nothing does not notice that it was closed: the state is read from the system at the end. */
  deaf(socket: Socket): void {
    socket.pause();
    this.#deaf.add(socket);
  }

  end(): void {
    if (this.#isOver) return;
    this.fate.disconnected += closedUnheard([...this.#deaf].filter((socket) => !socket.destroyed));
    this.#isOver = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Resolves with undefined where the server does not let it in. */
  dial(port: number = this.location.ports.http, isHandshaking = this.location.isTls): Promise<Socket | undefined> {
    if (this.#isOver) return Promise.resolve(undefined);
    return new Promise((resolve) => {
      const plain = connect({ port, host: this.host, localAddress: this.location.address });
      const socket = isHandshaking
        ? connectTls({ socket: plain, rejectUnauthorized: false, ALPNProtocols: ['h2', 'http/1.1'] })
        : plain;
      socket.setNoDelay(true);
      this.#sockets.add(socket);
      let isOpen = false;
      // Errors are handled on close.
      plain.on('error', () => {});
      socket.on('error', () => {});
      socket.once(isHandshaking ? 'secureConnect' : 'connect', () => {
        isOpen = true;
        this.fate.opened++;
        resolve(socket);
      });
      socket.once('close', () => {
        this.#sockets.delete(socket);
        if (!this.#isOver && isOpen) this.fate.disconnected++;
        if (!isOpen) {
          if (!this.#isOver) this.fate.refused('connection refused');
          resolve(undefined);
        }
      });
    });
  }

  /** Closed by the attacker: does not count as disconnected by the server. */
  hangUp(socket: Socket): void {
    if (this.#sockets.delete(socket)) this.fate.hungUp++;
    socket.removeAllListeners('close');
    socket.destroy();
  }

  /** Ends early when the attack is over. */
  async sleep(ms: number): Promise<void> {
    const until = performance.now() + ms;
    while (!this.#isOver && performance.now() < until) {
      await new Promise((resolve) => setTimeout(resolve, Math.min(50, Math.max(1, until - performance.now()))));
    }
  }

  /** Runs `once` again and again, in so many loops, until the attack is over. */
  async again(loops: number, once: (loop: number) => Promise<void>): Promise<void> {
    await Promise.all(
      Array.from({ length: Math.max(1, Math.round(loops)) }, async (_, loop) => {
        while (!this.#isOver) {
          await once(loop);
          await new Promise(setImmediate);
        }
      }),
    );
  }

  /** Worker processes that hold a model, which a standby does not. */
  async servingPids(): Promise<readonly number[]> {
    const answer = await fetch(`http://${this.host}:${this.location.ports.http}/v1/management/instances`);
    const { instances } = (await answer.json()) as { readonly instances: readonly { readonly pid: number }[] };
    return instances.map(({ pid }) => pid);
  }
}

/** Worker processes of a router, standbys included. */
export function workerPidsOf(routerPid: number): readonly number[] {
  const text = readFileSync(`/proc/${routerPid}/task/${routerPid}/children`, 'utf8').trim();
  return text === '' ? [] : text.split(' ').map(Number);
}

/** How many of these sockets the other side has closed or reset. */
function closedUnheard(sockets: readonly Socket[]): number {
  if (sockets.length === 0) return 0;
  const establishedPorts = new Set<number>();
  for (const line of readFileSync('/proc/net/tcp', 'latin1').split('\n')) {
    const [, port, state] = /^\s*\d+: [0-9A-F]+:([0-9A-F]+) \S+ ([0-9A-F]{2}) /.exec(line) ?? [];
    if (state === '01') establishedPorts.add(Number.parseInt(port as string, 16));
  }
  return sockets.filter(({ localPort }) => localPort !== undefined && !establishedPorts.has(localPort)).length;
}

/** Writes, and waits while the other side takes nothing; false once it is closed. */
export async function sent(socket: Socket, bytes: string | Uint8Array): Promise<boolean> {
  if (socket.destroyed || !socket.writable) return false;
  if (socket.write(bytes)) return true;
  await new Promise<void>((resolve) => {
    const goOn = (): void => {
      socket.off('drain', goOn);
      socket.off('close', goOn);
      resolve();
    };
    socket.on('drain', goOn);
    socket.on('close', goOn);
  });
  return !socket.destroyed;
}

export function closed(socket: Socket): Promise<void> {
  return socket.destroyed ? Promise.resolve() : new Promise((resolve) => socket.once('close', () => resolve()));
}
