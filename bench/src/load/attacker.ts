/**
 * Attacks a server until it is stopped: each attacker begins anew as soon as it is cut off. Prints one line when all
 * have begun.
 */
import { connect, type Socket } from 'node:net';
import { parseArgs } from 'node:util';
import { floods } from '@millrace/http/internal';
import { hello } from '@millrace/http2/testing';

const { values } = parseArgs({ options: { port: { type: 'string' }, attack: { type: 'string' } } });
const port = Number(values.port);

/** Connections that flood at once; each costs this program as much as it costs the server. */
const floodersMax = 4;
/** Connections of the attacks that hold the server by doing next to nothing. */
const idlersMax = 500;
/** A flooder gives the event loop a turn after so many rounds, and waits while so much is unsent. */
const roundsPerTurn = 8;

function dial(onOpen: (socket: Socket) => void): void {
  const socket = connect(port, '127.0.0.1', () => onOpen(socket));
  socket.on('error', () => {});
  socket.on('data', () => {});
  socket.on('close', () => setImmediate(dial, onOpen));
}

function flood(next: (round: number) => Buffer): void {
  dial((socket) => {
    socket.write(hello);
    let round = 0;
    const turn = (): void => {
      for (let at = 0; at < roundsPerTurn && !socket.destroyed; at++) {
        if (!socket.write(next(round++))) {
          socket.once('drain', () => setImmediate(turn));
          return;
        }
      }
      if (!socket.destroyed) setImmediate(turn);
    };
    turn();
  });
}

/** Sends a beginning, then a byte now and then. */
function trickle(beginning: string): void {
  dial((socket) => {
    socket.write(beginning);
    const timer = setInterval(() => socket.write('a'), 1000);
    socket.once('close', () => clearInterval(timer));
  });
}

const slow: Readonly<Record<string, () => void>> = {
  'slow heads (slowloris)': () => trickle('GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nx-slow: '),
  'slow bodies': () => trickle('POST / HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: 100000\r\n\r\n'),
  'connections that say nothing': () => dial(() => {}),
};

const chosen = floods.find(({ name }) => name === values.attack);
const slowly = slow[values.attack ?? ''];
if (chosen !== undefined) for (let index = 0; index < floodersMax; index++) flood(chosen.next);
else if (slowly !== undefined) for (let index = 0; index < idlersMax; index++) slowly();
else if (values.attack === 'connection flood') {
  for (let index = 0; index < floodersMax; index++) dial((socket) => setImmediate(() => socket.destroy()));
} else throw new Error(`no such attack: ${values.attack}`);
setTimeout(() => process.stdout.write('attacking\n'), 500);
