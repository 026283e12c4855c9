/** The Unix socket of management: accessible to the server's user only, from its creation on; a stale socket is replaced. */
import { chmod, lstat, mkdtemp, rename, rm, unlink } from 'node:fs/promises';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import type { HttpServer } from '@millrace/http';
import { messageFromFileError } from '@millrace/protocol';

/** Rejects when a server listens there, when the path is not a socket, or when the folder cannot be used. */
export async function openManagementSocket(
  path: string,
  listen: (path: string) => Promise<HttpServer>,
): Promise<HttpServer> {
  await mustBeFree(path);
  // Created in a private folder and moved when it has its mode: the initial mode depends on the umask.
  const folder = await mkdtemp(join(dirname(path), '.m-')).catch((error: unknown) => {
    throw unusable(path, `${dirname(path)} ${messageFromFileError(error, 'written')}`);
  });
  const first = join(folder, 's');
  let server: HttpServer | undefined;
  try {
    server = await listen(first);
    await chmod(first, 0o600);
    await rename(first, path);
  } catch (error) {
    await server?.close();
    throw error;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  const { ino } = await lstat(path);
  return new SocketServer(server, path, ino);
}

/** For a server on a socket that is at the path already, because the router that opened it has died. */
export async function reopenManagementSocket(path: string, server: HttpServer): Promise<HttpServer> {
  const found = await lstat(path).catch(() => undefined);
  return new SocketServer(server, path, found?.ino);
}

class SocketServer implements HttpServer {
  readonly host: string;
  readonly port = 0;
  readonly #server: HttpServer;
  readonly #inode: number | undefined;

  constructor(server: HttpServer, path: string, inode: number | undefined) {
    this.#server = server;
    this.host = path;
    this.#inode = inode;
  }

  async drain(): Promise<void> {
    await this.#remove();
    await this.#server.drain();
  }

  async close(): Promise<void> {
    await this.#remove();
    await this.#server.close();
  }

  /** Unless another server has created its own socket there in the meantime. */
  async #remove(): Promise<void> {
    const found = await lstat(this.host).catch(() => undefined);
    if (found !== undefined && found.ino === this.#inode) await unlink(this.host).catch(() => {});
  }
}

async function mustBeFree(path: string): Promise<void> {
  const found = await lstat(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (found === undefined) return;
  if (!found.isSocket()) throw unusable(path, 'there is a file that is not a socket; give another management.socket');
  if (await isAnswered(path))
    throw unusable(path, 'another server listens there; stop it, or give another management.socket');
}

function isAnswered(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    // Only a refused connection shows that nobody listens; without permission to connect the socket is not replaced.
    socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code !== 'ECONNREFUSED'));
  });
}

function unusable(path: string, why: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`cannot listen on ${path}: ${why}`), { code: 'EADDRINUSE', path });
}
