/** The bystanders' process: separate, so that delays of the attackers' event loop are not measured as the server's. */
import { Bystander } from './bystander.ts';
import type { BystanderPorts } from './outcome.ts';

export type BystanderCommand =
  | { readonly do: 'start'; readonly addresses: readonly string[] }
  | { readonly do: 'stop' }
  | { readonly do: 'probe'; readonly address: string };

const ports = JSON.parse(process.argv[2] ?? '') as BystanderPorts;
const bystanders = new Map<string, Bystander>();
let running: readonly string[] = [];

function at(address: string): Bystander {
  const known = bystanders.get(address) ?? new Bystander(ports, address);
  bystanders.set(address, known);
  return known;
}

async function follow(command: BystanderCommand): Promise<unknown> {
  switch (command.do) {
    case 'start':
      running = command.addresses;
      for (const address of running) at(address).start();
      return 'started';
    case 'stop': {
      const reports = await Promise.all(running.map(async (address) => [address, await at(address).stop()] as const));
      return Object.fromEntries(reports);
    }
    case 'probe':
      return (await at(command.address).isServed()) ?? '';
  }
}

process.on('message', (command: BystanderCommand) => {
  void follow(command).then((reply) => process.send?.(reply));
});
process.on('disconnect', () => process.exit(0));
