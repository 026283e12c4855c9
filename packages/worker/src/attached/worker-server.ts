/** A worker that routers attach to: it listens on a Unix socket, and lives on when a router leaves. */
import { randomUUID } from 'node:crypto';
import { chmod } from 'node:fs/promises';
import { createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import type { WorkerIdentity } from '@millrace/protocol';
import { takePeerUser } from '@millrace/shared-memory';
import { FileDigests } from '../content/file-digests.ts';
import { LocalModelFiles } from '../content/model-files.ts';
import type { Engine } from '../engine.ts';
import { JobTurns } from '../host/job-turns.ts';
import { RouterLink } from '../host/router-link.ts';
import { EngineSessions } from '../host/sessions.ts';
import { SharedSessions } from '../host/shared-sessions.ts';
import { LinkWire } from './link-wire.ts';
import { openSocketFolder } from './socket-folder.ts';

export interface WorkerServerOptions {
  readonly engines: readonly Engine[];
  /** The file of the socket, in a folder that only this user can enter. */
  readonly socketPath: string;
  /** A name that stays the same when the worker is started again. */
  readonly id: string;
  /** The most batches that it holds at once, divided evenly among `linksMax` links. */
  readonly capacity: number;
  /** A router has a link for each worker group that it attaches. */
  readonly linksMax: number;
  readonly unsentBytesMax: number;
  /** Where model files are copied to; a folder beside the socket unless given. */
  readonly cacheFolder?: string;
  /** Called with what happens, for the log. */
  readonly onEvent: (text: string) => void;
}

/** How long a router that has connected may take to greet. */
const greetingMsMax = 5000;

interface OpenLink {
  readonly wire: LinkWire;
  readonly link: RouterLink;
}

export class WorkerServer {
  readonly #options: WorkerServerOptions;
  readonly #server: Server;
  readonly #sessions: SharedSessions;
  readonly #turns = new JobTurns();
  readonly #links = new Set<OpenLink>();
  readonly #incarnation = randomUUID();
  #isStopping: boolean = false;
  #onStopped: () => void = () => {};

  private constructor(options: WorkerServerOptions) {
    const { engines, socketPath, cacheFolder = join(socketPath, '../models') } = options;
    this.#options = options;
    const files = new LocalModelFiles({ cacheFolder, digests: new FileDigests() });
    this.#sessions = new SharedSessions({ loader: new EngineSessions(engines), files });
    this.#server = createServer((socket) => this.#accept(socket));
  }

  /** Resolves when routers can attach. Rejects when the socket is in use, or its folder open to other users. */
  static async open(options: WorkerServerOptions): Promise<WorkerServer> {
    if (options.capacity < options.linksMax) {
      throw new Error(`a capacity of ${options.capacity} batches cannot be divided among ${options.linksMax} links`);
    }
    await openSocketFolder(options.socketPath);
    const worker = new WorkerServer(options);
    await new Promise<void>((resolve, reject) => {
      worker.#server.once('error', reject);
      worker.#server.listen(options.socketPath, resolve);
    });
    await chmod(options.socketPath, 0o600);
    return worker;
  }

  /** Takes no more routers and nothing new; resolves when everything that was sent before is answered and all links are closed. */
  stop(): Promise<void> {
    const stopped = new Promise<void>((resolve) => {
      this.#onStopped = resolve;
    });
    this.#isStopping = true;
    this.#server.close();
    for (const { link } of this.#links) link.finish();
    this.#tellIfStopped();
    return stopped;
  }

  #accept(socket: Socket): void {
    const { capacity, linksMax, unsentBytesMax, onEvent } = this.#options;
    const user = takePeerUser(socket);
    if (user === undefined || user !== process.getuid?.()) {
      onEvent(`connection refused: it is of user ${user ?? 'unknown'}, and only user ${process.getuid?.()} may attach`);
      socket.destroy();
      return;
    }
    let endReason = 'it closed the connection';
    const wire = new LinkWire({
      socket,
      unsentBytesMax,
      onCut: (reason) => {
        endReason = reason;
      },
    });
    const isFull = this.#links.size >= linksMax;
    const limit = setTimeout(() => wire.cut(`no greeting within ${greetingMsMax} ms`), greetingMsMax);
    const link = new RouterLink({
      wire,
      sessions: this.#sessions,
      identify: () => {
        clearTimeout(limit);
        if (!isFull) return this.#identity();
        // The greeting is written at the end of this turn.
        setImmediate(() => wire.end(() => {}));
        return { ...this.#identity(), refusal: `it has ${linksMax} links, its maximum` };
      },
      takeMapping: () => undefined,
      share: { creditMax: Math.floor(capacity / linksMax), turns: this.#turns },
      onStopped: () => wire.end(() => {}),
      onEnded: () => {
        clearTimeout(limit);
        link.close();
        onEvent(`router left: ${endReason}`);
        this.#links.delete(open);
        this.#tellIfStopped();
      },
    });
    const open = { wire, link };
    if (!isFull) this.#links.add(open);
    onEvent(isFull ? 'router refused: too many links' : 'router attached');
  }

  #identity(): WorkerIdentity {
    const { id, capacity } = this.#options;
    return { id, incarnation: this.#incarnation, capacity, loaded: this.#sessions.loaded() };
  }

  #tellIfStopped(): void {
    if (this.#isStopping && this.#links.size === 0) this.#onStopped();
  }
}
