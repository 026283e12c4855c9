/** `fetch` over a Unix socket, as far as the commands use it: a method, headers, a body of text or bytes, a signal. */
import { request } from 'node:http';

export const socketScheme = 'unix:';

/** Takes addresses with a path after `unix:PATH`, as `callServer` makes them. */
export function socketFetch(socketPath: string): typeof fetch {
  return (address, init = {}) =>
    new Promise((resolve, reject) => {
      const path = String(address).slice(socketScheme.length + socketPath.length);
      const { method = 'GET', signal, body } = init;
      const headers = Object.fromEntries(new Headers(init.headers));
      const call = request(
        { socketPath, path, method, headers: { ...headers, host: 'localhost' }, ...(signal ? { signal } : {}) },
        (answer) => {
          const pieces: Buffer[] = [];
          answer.on('data', (piece: Buffer) => pieces.push(piece));
          answer.on('error', reject);
          answer.on('end', () => {
            const status = answer.statusCode ?? 0;
            const isEmpty = status === 204 || status === 304;
            const fields = Object.entries(answer.headers).map(([name, value]): [string, string] => [
              name,
              String(value),
            ]);
            resolve(new Response(isEmpty ? null : Buffer.concat(pieces), { status, headers: fields }));
          });
        },
      );
      // `fetch` rejects with the reason of the signal.
      call.on('error', (error) => reject(signal?.aborted === true ? signal.reason : error));
      call.end(typeof body === 'string' || body instanceof Uint8Array ? body : undefined);
    });
}
