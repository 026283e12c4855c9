/** A TCP link to a server that can be cut. */
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';

export class CutLink {
  readonly url: string;
  readonly #server: Server;
  readonly #sockets: Set<Socket>;
  /** New connections are closed at once. */
  isDown: boolean = false;

  private constructor(url: string, server: Server, sockets: Set<Socket>) {
    this.url = url;
    this.#server = server;
    this.#sockets = sockets;
  }

  static async to(url: string): Promise<CutLink> {
    const { hostname, port } = new URL(url);
    const sockets = new Set<Socket>();
    const server = createServer((near) => {
      if (link.isDown) {
        near.destroy();
        return;
      }
      const far = connect(Number(port), hostname);
      near.pipe(far).pipe(near);
      for (const [one, other] of [
        [near, far],
        [far, near],
      ] as const) {
        sockets.add(one);
        one.on('error', () => {});
        one.once('close', () => {
          sockets.delete(one);
          other.destroy();
        });
      }
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port: own } = server.address() as { port: number };
    const link: CutLink = new CutLink(`http://127.0.0.1:${own}`, server, sockets);
    return link;
  }

  cut(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  close(): void {
    this.cut();
    this.#server.close();
  }
}
