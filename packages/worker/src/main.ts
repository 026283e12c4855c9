/**
 * The worker process. Its router gave it two descriptors: 3, a socket for messages, and 4, memory that both map. It
 * lives as long as that socket and no longer.
 */
import { Socket } from 'node:net';
import { endWithParent, takeInheritedMapping } from '@millrace/shared-memory';
import { RouterLink } from './host/router-link.ts';
import { onnxruntimeEngine } from './onnxruntime/onnxruntime-engine.ts';

const socketDescriptor = 3;
const memoryDescriptor = 4;
const exitCodeStopped = 0;
const exitCodeRouterLost = 1;
const exitCodeDefect = 2;

process.title = 'millrace-worker';
// Ctrl-C reaches the whole process group, and a supervisor may signal it too: when a worker ends is the router's decision.
process.on('SIGINT', () => {});
process.on('SIGTERM', () => {});

// A run blocks this thread, so the socket's end may be seen only after it: a long one must not outlive the router.
endWithParent();

// Said in few words: the router puts the last of them into its reason.
process.on('uncaughtException', (error) => {
  process.stderr.write(`${error.stack ?? error}\n`);
  process.exit(exitCodeDefect);
});

let isStopped = false;
const socket = new Socket({ fd: socketDescriptor, readable: true, writable: true });
socket.on('error', (error) => process.stderr.write(`the socket to the router failed: ${error.message}\n`));
socket.on('end', () => process.exit(isStopped ? exitCodeStopped : exitCodeRouterLost));
socket.on('close', () => process.exit(isStopped ? exitCodeStopped : exitCodeRouterLost));

new RouterLink({
  socket,
  engines: [onnxruntimeEngine],
  takeMapping: (bytes) =>
    takeInheritedMapping(memoryDescriptor, bytes, (reason) => process.stderr.write(`${reason}\n`)),
  onStopped() {
    isStopped = true;
    socket.end(() => process.exit(exitCodeStopped));
  },
});
