/** Commands for a running chaos proxy, a line each: a fault, `status` or `quit`. From standard input and from a control port. */
import { type AddressInfo, createServer, type Socket } from 'node:net';
import type { ChaosProxy, TcpAddress } from '../../chaos/chaos-proxy.ts';
import type { Fault } from '../../chaos/fault.ts';
import { faultFrom } from '../../chaos/fault-text.ts';
import { linesOf } from '../lines-of.ts';

const commandBytesMax = 1024;
export const controlConnectionsMax = 8;

export interface ChaosControl {
  readonly proxy: Pick<ChaosProxy, 'apply' | 'linkCount'>;
  readonly quit: () => void;
}

/** What is said in reply; undefined: the line was empty. */
function runChaosCommand(line: string, { proxy, quit }: ChaosControl): string | undefined {
  const command = line.trim();
  if (command === '') return undefined;
  if (command === 'quit') {
    quit();
    return 'ok';
  }
  if (command === 'status') return `ok ${proxy.linkCount} connections`;
  let fault: Fault;
  try {
    fault = faultFrom(command);
  } catch (error) {
    return `error: ${(error as Error).message}; also known: status, quit`;
  }
  proxy.apply(fault);
  return 'ok';
}

/** Until the input ends. `reply` is called with the answer to each line. */
export async function controlByLines(
  input: AsyncIterable<Uint8Array>,
  control: ChaosControl,
  reply: (text: string) => void,
): Promise<void> {
  try {
    for await (const line of linesOf(input, commandBytesMax)) {
      const answer = runChaosCommand(line, control);
      if (answer !== undefined) reply(answer);
    }
  } catch (error) {
    reply(`error: ${(error as Error).message}`);
  }
}

export interface ControlPort {
  readonly address: TcpAddress;
  close(): Promise<void>;
}

/** Always on loopback: who can reach it can break every connection. */
export async function openControlPort(port: number, control: ChaosControl): Promise<ControlPort> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    if (sockets.size >= controlConnectionsMax) {
      socket.end(`error: there are ${controlConnectionsMax} control connections already\n`);
      return;
    }
    sockets.add(socket);
    socket.on('error', () => {});
    socket.once('close', () => sockets.delete(socket));
    const reply = (text: string): void => void socket.write(`${text}\n`);
    void controlByLines(socket, control, reply).then(() => socket.end());
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  const { address, port: chosen } = server.address() as AddressInfo;
  return {
    address: { host: address, port: chosen },
    close: async () => {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}
