/**
 * Which process has a store on disk open. Only one may: watches and leases are in its memory, so a second one would be
 * wrong without noticing. The owner listens on a socket in the folder, which the kernel closes when the process dies in
 * any way; the store holds the name of the socket, and a new owner replaces it only if it finds the name that it knows
 * to be dead. So of two that start at the same moment one wins, and reused pids or pids of other containers do no harm.
 */
import { randomBytes } from 'node:crypto';
import { closeSync, openSync, readdirSync, rmSync } from 'node:fs';
import { connect, createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { StoreError } from '../store-error.ts';
import type { TableHost } from '../table.ts';
import { unusable } from './store-folder.ts';

const ownerKey = 'owner';
const socketPrefix = 'owner-';
/** The longest socket address on every supported system; longer ones are truncated silently. */
const socketPathBytesMax = 103;
/** How long an owner may take to answer; one that has hung for as long is believed to be alive. */
const ownerAnswerMsMax = 2000;

export class Ownership {
  readonly #server: Server;
  readonly #socketPath: string;
  readonly #name: string;

  private constructor(server: Server, socketPath: string, name: string) {
    this.#server = server;
    this.#socketPath = socketPath;
    this.#name = name;
  }

  /**
   * Throws `store-locked` when another process, or this one, has the store open. To be called before lmdb opens the folder:
   * lmdb waits, and the whole process with it, for a writer that stands still, however long that takes.
   */
  static async refuseIfTaken(folder: string): Promise<void> {
    for (const name of socketsIn(folder)) {
      if (await withAddress(folder, name, isAnswered)) throw locked(folder);
    }
  }

  /** Throws `store-locked` when another process, or this one, was faster. */
  static async take(folder: string, host: TableHost): Promise<Ownership> {
    const known = host.read((table) => textFrom(table.get(ownerKey)));
    if (known !== '' && (await withAddress(folder, known, isAnswered))) throw locked(folder);
    const name = `${socketPrefix}${randomBytes(6).toString('hex')}`;
    const server = await withAddress(folder, name, (address) => listenOn(folder, address));
    const ownership = new Ownership(server, join(folder, name), name);
    const isMine = await host.write((table) => {
      if (textFrom(table.get(ownerKey)) !== known) return false;
      table.put(ownerKey, Buffer.from(name));
      return true;
    });
    if (!isMine) {
      ownership.giveUp();
      throw locked(folder);
    }
    ownership.#removeOthers(folder);
    return ownership;
  }

  /** The processes that listen there are dead, or have just been told that this one was faster. */
  #removeOthers(folder: string): void {
    for (const name of socketsIn(folder)) {
      if (name !== this.#name) rmSync(join(folder, name), { force: true });
    }
  }

  /** Checked in every write: false when another process has taken the store although this one is alive. */
  isNamedIn(owner: Uint8Array | undefined): boolean {
    return textFrom(owner) === this.#name;
  }

  giveUp(): void {
    this.#server.close();
    rmSync(this.#socketPath, { force: true });
  }
}

function socketsIn(folder: string): string[] {
  return readdirSync(folder).filter((name) => name.startsWith(socketPrefix));
}

export const ownerRecord = ownerKey;

function locked(folder: string): StoreError {
  const advice = 'give each server a folder of its own, or stop the other one first';
  return new StoreError('store-locked', `the store in ${folder} is in use by another server; ${advice}`);
}

/** Calls back with a path for the socket that is short enough, through the folder's descriptor if needed. */
async function withAddress<T>(folder: string, name: string, use: (address: string) => Promise<T>): Promise<T> {
  const path = join(folder, name);
  if (Buffer.byteLength(path) <= socketPathBytesMax) return use(path);
  if (process.platform !== 'linux') {
    throw unusable(folder, `the path is longer than ${socketPathBytesMax - name.length - 1} bytes`);
  }
  const descriptor = openSync(folder, 'r');
  try {
    return await use(`/proc/self/fd/${descriptor}/${name}`);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * Whether somebody owns the socket and will go on to. A process that is being killed may still accept a connection in the
 * kernel while its other descriptors are closed already; it ends that connection by ending. A living owner ends it too, so
 * what tells them apart is a second connection.
 */
async function isAnswered(address: string): Promise<boolean> {
  return (await isConnected(address)) && isConnected(address);
}

/** Resolves when the owner has ended the connection, or has not within the limit: one that hangs owns its store too. */
function isConnected(address: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(address).resume();
    let isAlive = false;
    const limit = setTimeout(() => socket.destroy(), ownerAnswerMsMax);
    socket.once('connect', () => {
      isAlive = true;
    });
    // Nobody listens, or nothing is there; a full backlog means that somebody listens.
    socket.once('error', ({ code }: NodeJS.ErrnoException) => {
      isAlive ||= code === 'EAGAIN';
    });
    socket.once('close', () => {
      clearTimeout(limit);
      resolve(isAlive);
    });
  });
}

function listenOn(folder: string, address: string): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', (error) => reject(unusable(folder, error.message, error)));
    server.listen(address, () => resolve(server.unref()));
  });
}

function textFrom(bytes: Uint8Array | undefined): string {
  return bytes === undefined ? '' : Buffer.from(bytes).toString();
}
