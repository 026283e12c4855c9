/** The folder of a worker's socket: only its user may enter it, and the socket in it is not in use. */
import { lstat, mkdir, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { dirname } from 'node:path';

/** The kernel takes no longer path for a socket. */
const socketPathBytesMax = 107;
const othersMask = 0o077;

/** Makes the folder if there is none, and removes the socket of a worker that was killed. */
export async function openSocketFolder(socketPath: string): Promise<void> {
  const bytes = Buffer.byteLength(socketPath);
  if (bytes > socketPathBytesMax) {
    throw new Error(
      `the path of the socket has ${bytes} bytes, at most ${socketPathBytesMax} are allowed: ${socketPath}`,
    );
  }
  const folder = dirname(socketPath);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const { uid, mode } = await lstat(folder);
  if (uid !== process.getuid?.() || (mode & othersMask) !== 0) {
    const state = `it is of user ${uid} with mode ${(mode & 0o777).toString(8)}`;
    throw new Error(`the folder ${folder} must be of user ${process.getuid?.()} with mode 700; ${state}`);
  }
  const found = await lstat(socketPath).catch(() => undefined);
  if (found === undefined) return;
  if (!found.isSocket()) throw new Error(`${socketPath} exists and is not a socket; remove it or choose another path`);
  if (await isInUse(socketPath))
    throw new Error(`another worker listens on ${socketPath}; stop it or choose another path`);
  await rm(socketPath);
}

function isInUse(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(socketPath);
    socket.on('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}
