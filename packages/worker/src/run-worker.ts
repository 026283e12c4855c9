/**
 * Runs a worker process, with any engines. It inherits two descriptors from its router: 3, a socket for messages, and 4,
 * shared memory. It exits when the socket closes.
 */
import { randomUUID } from 'node:crypto';
import { Socket } from 'node:net';
import { hostname } from 'node:os';
import { confineChild, takeDirectSocket, takeInheritedMapping } from '@millrace/shared-memory';
import type { Engine } from './engine.ts';
import { RouterLink } from './host/router-link.ts';
import { AttentiveWire, EventWire, waitMsMax } from './host/router-wire.ts';
import { EngineSessions } from './host/sessions.ts';

const socketDescriptor = 3;
const memoryDescriptor = 4;
const exitCodeStopped = 0;
const exitCodeRouterLost = 1;
const exitCodeDefect = 2;

/** Turns this process into a worker with these engines. To be called once, by the program that a local lane starts. */
export function runWorker(engines: readonly Engine[]): void {
  process.title = 'millrace-worker';
  // Ctrl-C reaches the whole process group, and a service manager may signal it too: the router decides when a worker exits.
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => {});

  // A run blocks this thread, so the close of the socket may be noticed only after it: a long run must not outlive the router.
  confineChild();

  // The router shows the last lines of stderr as the reason of the exit.
  process.on('uncaughtException', (error) => {
    process.stderr.write(`${error.stack ?? error}\n`);
    process.exit(exitCodeDefect);
  });

  const incarnation = randomUUID();
  let isStopped = false;
  const isAttentive = engines.every((engine) => engine.isConcurrent !== true);
  const direct = isAttentive ? takeDirectSocket(socketDescriptor, waitMsMax) : undefined;
  const wire = direct === undefined ? new EventWire(new Socket({ fd: socketDescriptor })) : new AttentiveWire(direct);

  new RouterLink({
    wire,
    sessions: new EngineSessions(engines),
    // The router that started it has its own number for it: nobody else has to find it again.
    identify: () => ({ id: `${hostname()}:${process.pid}`, incarnation, capacity: 0, loaded: [] }),
    takeMapping: (bytes) =>
      takeInheritedMapping(memoryDescriptor, bytes, (reason) => process.stderr.write(`${reason}\n`)),
    onStopped() {
      isStopped = true;
      wire.end(() => process.exit(exitCodeStopped));
    },
    onEnded: () => process.exit(isStopped ? exitCodeStopped : exitCodeRouterLost),
  });
}
