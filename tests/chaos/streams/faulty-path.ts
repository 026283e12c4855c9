/** A TCP proxy between one client and the server: its connection can be cut, delayed, or made to swallow everything. */
import { connect, createServer, type Server, type Socket } from 'node:net';

/** What goes one way: in order, whatever it is delayed by. */
class Lane {
  readonly #waiting: { readonly at: number; readonly act: () => void }[] = [];
  delayMs = 0;
  isClosed: boolean = false;

  pass(act: () => void): void {
    if (this.isClosed) return;
    if (this.delayMs === 0 && this.#waiting.length === 0) act();
    else {
      this.#waiting.push({ at: performance.now() + this.delayMs, act });
      if (this.#waiting.length === 1) this.#wait(this.delayMs);
    }
  }

  #wait(delayMs: number): void {
    setTimeout(() => {
      if (this.isClosed) return;
      this.#waiting.shift()?.act();
      const [next] = this.#waiting;
      if (next !== undefined) this.#wait(Math.max(0, next.at - performance.now()));
    }, delayMs);
  }
}

/** One connection through the proxy. */
class FaultyLink {
  readonly #near: Socket;
  readonly #far: Socket;
  readonly #lanes = [new Lane(), new Lane()] as const;
  #hasFault: boolean = false;

  constructor(near: Socket, far: Socket) {
    this.#near = near;
    this.#far = far;
    this.#join(near, far, this.#lanes[0]);
    this.#join(far, near, this.#lanes[1]);
  }

  get isHealthy(): boolean {
    return !this.#hasFault && !this.#near.destroyed && !this.#far.destroyed;
  }

  cut(): void {
    this.#near.resetAndDestroy();
    this.#far.resetAndDestroy();
  }

  /** Both ways. */
  delay(delayMs: number, forMs: number): void {
    this.#hasFault = true;
    for (const lane of this.#lanes) lane.delayMs = delayMs;
    setTimeout(() => {
      this.#hasFault = this.#lanes[0].isClosed;
      for (const lane of this.#lanes) lane.delayMs = 0;
    }, forMs);
  }

  /** Neither side hears anything more, not even that the other has closed. */
  swallow(): void {
    this.#hasFault = true;
    for (const lane of this.#lanes) lane.isClosed = true;
    this.#near.pause();
    this.#far.pause();
  }

  destroy(): void {
    this.#near.destroy();
    this.#far.destroy();
  }

  #join(from: Socket, to: Socket, lane: Lane): void {
    from.on('data', (bytes: Buffer) => lane.pass(() => this.#pass(from, to, lane, bytes)));
    from.on('close', () => lane.pass(() => to.destroy()));
    from.on('error', () => {});
  }

  #pass(from: Socket, to: Socket, lane: Lane, bytes: Buffer): void {
    if (to.destroyed || to.write(bytes)) return;
    from.pause();
    to.once('drain', () => {
      if (!lane.isClosed) from.resume();
    });
  }
}

/** The way of one client to the server. Faults hit all connections that it has. */
export class FaultyPath {
  readonly address: string;
  readonly #server: Server;
  readonly #links = new Set<FaultyLink>();
  /** They stay open towards the server, which has to notice by itself. */
  readonly #blackHoles: FaultyLink[] = [];

  private constructor(server: Server) {
    this.#server = server;
    this.address = `127.0.0.1:${(server.address() as { port: number }).port}`;
  }

  /** `targetPort`: of this machine. */
  static async open(targetPort: number): Promise<FaultyPath> {
    const server = createServer({ noDelay: true });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const path = new FaultyPath(server);
    server.on('connection', (near) => {
      const link = new FaultyLink(near, connect({ port: targetPort, host: '127.0.0.1', noDelay: true }));
      path.#links.add(link);
      near.once('close', () => path.#links.delete(link));
    });
    return path;
  }

  /** There are connections, and no fault has hit one of them. */
  get isHealthy(): boolean {
    return this.#links.size > 0 && [...this.#links].every(({ isHealthy }) => isHealthy);
  }

  cut(): void {
    for (const link of this.#links) link.cut();
  }

  delay(delayMs: number, forMs: number): void {
    for (const link of this.#links) link.delay(delayMs, forMs);
  }

  swallow(): void {
    for (const link of this.#links) {
      link.swallow();
      this.#blackHoles.push(link);
    }
    this.#links.clear();
  }

  close(): void {
    this.#server.close();
    for (const link of [...this.#links, ...this.#blackHoles]) link.destroy();
  }
}
