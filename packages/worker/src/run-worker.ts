/**
 * The life of a worker process, whatever its engines. Its router gave it two descriptors: 3, a socket for messages, and
 * 4, memory that both map. It lives as long as that socket and no longer.
 */
import { Socket } from 'node:net';
import { confineChild, takeDirectSocket, takeInheritedMapping } from '@millrace/shared-memory';
import type { Engine } from './engine.ts';
import { RouterLink } from './host/router-link.ts';
import { AttentiveWire, EventWire } from './host/router-wire.ts';

const socketDescriptor = 3;
const memoryDescriptor = 4;
const exitCodeStopped = 0;
const exitCodeRouterLost = 1;
const exitCodeDefect = 2;

/** Turns this process into a worker with these engines. To be called once, by the program that a local lane starts. */
export function runWorker(engines: readonly Engine[]): void {
  process.title = 'millrace-worker';
  // Ctrl-C reaches the whole process group, and a supervisor may signal it too: when a worker ends is the router's decision.
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => {});

  // A run blocks this thread, so the socket's end may be seen only after it: a long one must not outlive the router.
  confineChild();

  // Said in few words: the router puts the last of them into its reason.
  process.on('uncaughtException', (error) => {
    process.stderr.write(`${error.stack ?? error}\n`);
    process.exit(exitCodeDefect);
  });

  let isStopped = false;
  const isAttentive = engines.every((engine) => engine.isConcurrent !== true);
  const direct = isAttentive ? takeDirectSocket(socketDescriptor) : undefined;
  const wire = direct === undefined ? new EventWire(new Socket({ fd: socketDescriptor })) : new AttentiveWire(direct);

  new RouterLink({
    wire,
    engines,
    takeMapping: (bytes) =>
      takeInheritedMapping(memoryDescriptor, bytes, (reason) => process.stderr.write(`${reason}\n`)),
    onStopped() {
      isStopped = true;
      wire.end(() => process.exit(exitCodeStopped));
    },
    onEnded: () => process.exit(isStopped ? exitCodeStopped : exitCodeRouterLost),
  });
}
