/**
 * Opens durable streams and leaves them idle, over gRPC or each over a WebSocket connection of its own. Every connection is
 * pinged once in `--ping-seconds`. Prints one line when all are open and keeps them until SIGTERM.
 */
import { once } from 'node:events';
import { parseArgs } from 'node:util';
import { echoModel, openBody, streamPath } from '../stream-messages.ts';
import { FrameConnection } from './frame-connection.ts';
import { IdleSocket } from './idle-socket.ts';

const { values } = parseArgs({
  options: {
    port: { type: 'string' },
    transport: { type: 'string' },
    connections: { type: 'string' },
    /** Open streams of each connection; a WebSocket connection has one. */
    streams: { type: 'string' },
    'ping-seconds': { type: 'string' },
  },
});
const port = Number(values.port);
const streams = Number(values.streams);

/** So that no listen backlog overflows. */
const openingMax = 64;
const pingTickMs = 50;

interface Pinged {
  ping(): void;
}

function openGrpc(): Promise<Pinged> {
  return new Promise((resolve) => {
    const opened = new Set<number>();
    const connection: FrameConnection = new FrameConnection(port, streamPath, openBody(echoModel), {
      onData: (id) => {
        opened.add(id);
        if (opened.size === streams) resolve(connection);
      },
      onEnd: () => {
        throw new Error('a stream ended that should be open');
      },
    });
    for (let index = 0; index < streams; index++) connection.call(true);
  });
}

function openSocket(): Promise<Pinged> {
  return new Promise((resolve) => {
    const socket = new IdleSocket(port, echoModel, () => resolve(socket));
  });
}

const open = values.transport === 'grpc' ? openGrpc : openSocket;
const all: Pinged[] = [];
for (let left = Number(values.connections); left > 0; left -= openingMax)
  all.push(...(await Promise.all(Array.from({ length: Math.min(left, openingMax) }, open))));

/** Evenly over the interval, as clients do that began at different times. */
const pingsPerTick = (all.length * pingTickMs) / (Number(values['ping-seconds']) * 1000);
let due = 0;
let next = 0;
setInterval(() => {
  for (due += pingsPerTick; due >= 1; due--) {
    all[next]?.ping();
    next = (next + 1) % all.length;
  }
}, pingTickMs);
process.stdout.write('open\n');
await once(process, 'SIGTERM');
process.exit(0);
