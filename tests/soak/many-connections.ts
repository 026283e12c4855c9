/**
 * `node tests/dist/soak/many-connections.js [--connections 10000]`: honest clients with that many keep-alive connections
 * from many addresses, each used twice; then as many idle ones from one address, beside which others must be served.
 */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { askAll, dialCrowd, type KeptConnection, leave, loopbackAddresses } from '../support/keep-alive-crowd.ts';
import { repositoryRoot } from '../support/repository-root.ts';
import { ServerProcess } from '../support/server-process.ts';

const { values } = parseArgs({ options: { connections: { type: 'string', default: '10000' } } });
const connections = Number(values.connections);
const connectionsEach = 250;
/** For what this program asks beside them. */
const spare = 50;
const perAddressMax = 1000;

let passed = 0;
const failures: string[] = [];

function check(what: string, isSo: boolean): void {
  process.stdout.write(`${isSo ? 'ok' : 'FAILED'}: ${what}\n`);
  if (isSo) passed += 1;
  else failures.push(what);
}

const countOpen = (crowd: readonly KeptConnection[]) => crowd.filter(({ isOpen }) => isOpen).length;

async function askOnce(url: string, address: string): Promise<number> {
  const crowd = await dialCrowd(url, [address], 1);
  const [status] = Object.keys(await askAll(crowd));
  leave(crowd);
  return Number(status);
}

async function honestUse(server: ServerProcess): Promise<void> {
  const addresses = loopbackAddresses(1, Math.ceil(connections / connectionsEach));
  const beforeBytes = server.residentBytes();
  const crowd: KeptConnection[] = [];
  let answered = 0;
  // A connection that says nothing for long after it was opened is closed.
  for (const address of addresses) {
    const next = await dialCrowd(server.url, [address], Math.floor(connections / addresses.length));
    answered += (await askAll(next))[200] ?? 0;
    crowd.push(...next);
  }
  check(`a request on each of ${crowd.length}: ${answered} answered`, answered === crowd.length);
  const statuses = await askAll(crowd);
  check(`a second one: ${JSON.stringify(statuses)}`, statuses[200] === crowd.length);
  check(`${countOpen(crowd)} of ${crowd.length} connections stay open`, countOpen(crowd) === crowd.length);
  const kilobytes = (server.residentBytes() - beforeBytes) / crowd.length / 1000;
  process.stdout.write(`resident memory of a connection: ${kilobytes.toFixed(1)} kB\n`);
  leave(crowd);
}

async function idleFlood(server: ServerProcess): Promise<void> {
  const crowd = await dialCrowd(server.url, ['127.0.0.2'], connections);
  const statuses = await askAll(await dialCrowd(server.url, ['127.0.0.3'], 100));
  check(`100 connections of another address beside them: ${JSON.stringify(statuses)}`, statuses[200] === 100);
  for (const address of ['127.0.0.1', '127.0.0.3']) {
    const status = await askOnce(server.url, address);
    check(`health from ${address} beside them: ${status}`, status === 200);
  }
  check('metrics beside them', (await fetch(server.metricsUrl)).status === 200);
  const left = countOpen(crowd);
  check(`${left} of ${crowd.length} idle connections of one address are kept`, left <= perAddressMax);
  leave(crowd);
}

const limits = ['--connections-max', String(connections + spare)];
const server = await ServerProcess.start([
  join(repositoryRoot, 'tests/models'),
  '--model-control-mode',
  'explicit',
  ...limits,
]);
const lowered = server.records.find(({ message }) => message.startsWith('http.connectionsMax lowered'));
if (lowered !== undefined) throw new Error(`ulimit -n is too low for ${connections} connections on this machine`);
await honestUse(server);
await idleFlood(server);
await server.stop();
process.stdout.write(`${passed} passed, ${failures.length} failed\n`);
process.exitCode = failures.length === 0 ? 0 : 1;
