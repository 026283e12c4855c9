/**
 * A worker program that speaks the versions of the dispatch protocol that its environment names, `oldest-newest`. It greets, grants credit as soon
 * as it has been sent anything more than a greeting, and does nothing else.
 */
import { Socket } from 'node:net';
import { DispatchFrameReader, decodeToWorker, FrameWriter, type HelloFrame } from '@millrace/protocol';

const [oldest = 0, newest = 0] = (process.env.DISPATCH_VERSIONS ?? '').split('-').map(Number);
const socket = new Socket({ fd: 3 });
const writer = new FrameWriter();

function send(...frames: Parameters<FrameWriter['append']>[0][]): void {
  for (const frame of frames) writer.append(frame);
  socket.write(writer.takeBytes());
}

const reader = new DispatchFrameReader((bytes) => {
  const frame = decodeToWorker(bytes, () => undefined);
  if (frame.kind === 'hello') send(greetingTo(frame));
  else send({ kind: 'credit', batchesMax: 1 });
});

function greetingTo({ frameBytesMax }: HelloFrame): HelloFrame {
  return { kind: 'hello', versions: { oldest, newest }, toWorkerBytes: 0, toRouterBytes: 0, frameBytesMax };
}

socket.on('data', (chunk: Buffer) => reader.push(chunk));
socket.on('end', () => process.exit(0));
