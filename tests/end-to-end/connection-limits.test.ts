/** Many connections, from honest clients and from floods, to a real server with a real worker. */
import { ModelRepository } from '@millrace/worker/testing';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { inferOverRest } from '../support/inference-call.ts';
import { askAll, dialCrowd, type KeptConnection, leave, loopbackAddresses } from '../support/keep-alive-crowd.ts';
import { ServerProcess } from '../support/server-process.ts';
import { addSlowModel, steps } from '../support/slow-model.ts';

/** Six workers take long to start on a busy machine. */
const startMsMax = 40_000;
const models = new ModelRepository();
let server: ServerProcess;
let crowd: readonly KeptConnection[] = [];

beforeAll(() => addSlowModel(models, 'slow'));
afterAll(() => models.remove());
afterEach(() => leave(crowd));

async function flood(addresses: readonly string[], connectionsEach: number): Promise<void> {
  crowd = await dialCrowd(server.url, addresses, connectionsEach);
}

/** Starts the server by a shell that lowers its limit of open files. */
const withOpenFiles = (max: number) => ({ wrapper: ['/bin/sh', '-c', 'ulimit -n "$0" && exec "$@"', String(max)] });

const openCount = () => crowd.filter(({ isOpen }) => isOpen).length;

/** One request over a connection of its own; 0 when that is refused. */
async function askOnce(url: string, address: string): Promise<number> {
  const [connection] = await dialCrowd(url, [address], 1);
  const status = await (connection as KeptConnection).ask();
  (connection as KeptConnection).socket.destroy();
  return status;
}

describe('a server with room for 200 connections, 100 from each address', () => {
  beforeAll(async () => {
    const limits = ['--connections-max', '200', '--connections-per-address-max', '100'];
    server = await ServerProcess.start([models.path, ...limits]);
  });
  afterAll(async () => {
    expect(await server.stop()).toBe(0);
  });

  test('answers on every connection from many addresses, twice', async () => {
    await flood(loopbackAddresses(1, 20), 9);
    expect(await askAll(crowd)).toEqual({ 200: 180 });
    expect(await askAll(crowd)).toEqual({ 200: 180 });
    expect(openCount()).toBe(180);
  });

  test('serves other addresses although idle connections of one address fill its limit', async () => {
    await eventually(
      'the connections of the test before are gone',
      async () => (await askOnce(server.url, '127.0.0.2')) === 200,
    );
    await flood(['127.0.0.2'], 300);
    await eventually('the flood is at its limit', () => openCount() <= 100);
    expect(await askOnce(server.url, '127.0.0.3')).toBe(200);
    expect((await inferOverRest(server.url, 'slow', steps(1))).status).toBe(200);
    expect((await fetch(server.metricsUrl)).status).toBe(200);
    const isHealthSeen = async () => (await askOnce(server.url, '127.0.0.2')) === 200;
    await eventually('an idle connection makes room for a health check of that address', isHealthSeen);
    const refusal = server.records.find(({ message }) => message === 'connections refused at a limit');
    expect(refusal).toMatchObject({ limit: 'http.connectionsPerAddressMax', address: '127.0.0.2' });
  });

  test('shows its metrics when every connection is taken', async () => {
    await flood(loopbackAddresses(2, 4), 100);
    await eventually('the flood is at its limit', () => openCount() <= 200);
    expect(await askOnce(server.metricsUrl, '127.0.2.1')).toBe(404);
    expect((await fetch(server.metricsUrl)).status).toBe(200);
  });
});

describe.skipIf(process.platform === 'win32')('a server that may open few files', () => {
  const openFilesMax = 256;
  /** More than the limit of connections is reckoned with at the start: connections have to give way to them. */
  const workers = 6;
  const manyWorkers = new ModelRepository();
  beforeAll(() => addSlowModel(manyWorkers, 'slow', {}, `instance_group [{ count: ${workers} kind: KIND_CPU }]`));
  afterAll(() => manyWorkers.remove());
  const lost = () => server.records.filter(({ message }) => message.startsWith('worker exited'));

  test('lowers its connection limit, logs that, and restarts all workers during a flood', async () => {
    server = await ServerProcess.start([manyWorkers.path], withOpenFiles(openFilesMax));
    await eventually('every worker is ready', () => server.workerPids('slow:1').length === workers, startMsMax);
    const lowered = server.records.find(({ message }) => message.startsWith('http.connectionsMax lowered'));
    expect(lowered).toMatchObject({ level: 'warn', openFilesMax, wanted: 10_000 });
    await flood(loopbackAddresses(3, 10), 100);
    await eventually('the flood is at its limit', () => openCount() <= (lowered?.connectionsMax as number));
    const victims = server.workerPids('slow:1');
    for (const victim of victims) process.kill(victim, 'SIGKILL');
    // These may take what the dead workers had open, and nothing of what the new ones need.
    const more = await dialCrowd(server.url, loopbackAddresses(4, 10), 20);
    const isRestored = () => server.workerPids('slow:1').length === 2 * workers;
    await eventually('every worker has a successor', isRestored, startMsMax);
    const isAnswered = async () =>
      (await inferOverRest(server.url, 'slow', steps(1)).catch(() => undefined))?.status === 200;
    await eventually('a request is answered', isAnswered);
    expect(lost().map(({ reason }) => /SIGKILL/.test(String(reason)))).toEqual(victims.map(() => true));
    leave(more);
    const refusal = server.records.find(({ limit }) => limit === 'open files (ulimit -n)');
    expect(refusal).toMatchObject({ level: 'warn', message: 'connections refused at a limit' });
    expect(await server.stop()).toBe(0);
  });

  test('does not start where its program could not be loaded', async () => {
    await expect(ServerProcess.start([models.path], withOpenFiles(255))).rejects.toThrow('ended with 2');
  });
});
