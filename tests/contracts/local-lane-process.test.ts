/** The local lane's processes: how they die, how they are ended, and that none outlives its router. */
import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { dispatchVersions, FrameWriter, type FromWorker, frameBytesMaxDefault, HeapRegion } from '@millrace/protocol';
import { createLocalLane } from '@millrace/router/internal';
import { programs } from 'millrace/internal';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { bundledProgram } from '../support/bundled-program.ts';
import { useLocalLanes } from './local-lanes.ts';
import { int64 } from './tensor-bytes.ts';

const versionedWorker = await bundledProgram('support/versioned-worker');
const lanes = useLocalLanes();
const { models, open } = lanes;
const columns = 25_000;
const input = (fill: number) => [{ index: 0, shape: [1, columns], data: new Uint8Array(4 * columns).fill(fill) }];
const hello = {
  kind: 'hello',
  versions: dispatchVersions,
  toWorkerBytes: 0,
  toRouterBytes: 0,
  frameBytesMax: frameBytesMaxDefault,
} as const;

/** A program instead of the worker, with `socket` and `write(frames as hexadecimal)` at hand. */
function impostor(name: string, body: string): string {
  const path = join(lanes.folder, `${name}.mjs`);
  writeFileSync(
    path,
    `import { Socket } from 'node:net';
     const socket = new Socket({ fd: 3, readable: true, writable: true });
     const write = (hexadecimal) => socket.write(Buffer.from(hexadecimal, 'hex'));
     socket.on('error', () => {});
     ${body}`,
  );
  return path;
}

function hexadecimal(...frames: Parameters<FrameWriter['append']>[0][]): string {
  const writer = new FrameWriter();
  for (const frame of frames) writer.append(frame);
  return Buffer.from(writer.takeBytes()).toString('hex');
}

describe('a worker that dies', () => {
  test.each(['SIGKILL', 'SIGSEGV'] as const)(
    'by %s is gone, with the signal named, and its batches come back',
    async (signal) => {
      const probe = open();
      await probe.load(models.counting(1));
      const released: string[] = [];
      const run = (count: bigint) => [{ index: 0, shape: [1], data: int64(count) }];
      const first = probe.dispatch(1, run(1n), [0]);
      probe.dispatch(1, run(100_000_000_000n), [0], () => released.push('running'));
      await probe.answered(first);
      process.kill(probe.link.pid ?? 0, signal);
      const { reason } = await probe.until('gone');
      expect(reason).toBe(`worker process ${probe.link.pid} was ended by ${signal}`);
      expect(released).toEqual(['running']);
    },
  );

  test('by its own exit is gone, with the code and its last lines', async () => {
    const path = impostor(
      'exits',
      `for (let line = 1; line <= 100; line++) console.error('line ' + line);
       process.exit(7);`,
    );
    const { reason } = await open({ workerPath: path }).until('gone');
    expect(reason).toMatch(/^worker process \d+ exited with code 7; stderr: line 93 \| .* \| line 100$/);
  });

  test('after it answered has all its answers read', async () => {
    const text = hexadecimal(hello, { kind: 'credit', batchesMax: 5 }, { kind: 'load-failed', model: 3, message: 'x' });
    const path = impostor('answers-and-exits', `write('${text}'); socket.end(() => process.exit(0));`);
    const probe = open({ workerPath: path });
    await probe.until('gone');
    expect(probe.received.map(({ kind }) => kind)).toEqual(['credit', 'load-failed', 'gone']);
  });

  test('of an uncaught error says which', async () => {
    const path = impostor('throws', `throw new Error('out of luck');`);
    const { reason } = await open({ workerPath: path }).until('gone');
    expect(reason).toMatch(/exited with code 1; stderr: .*out of luck/);
  });
});

describe('a worker that breaks the protocol is killed and gone', () => {
  const answer = { kind: 'failed', batch: 5, code: 'cancelled', message: '' } as const;
  test.each([
    ['garbage', 'ff'.repeat(64), /a frame of \d+ bytes is over the maximum|multiple of 8/],
    ['no hello', hexadecimal({ kind: 'credit', batchesMax: 1 }), /the first frame is a credit, not a hello/],
    ['two hellos', hexadecimal(hello, hello), /hello twice/],
    ['an unknown kind', `${hexadecimal(hello)}08000000fa000000`, /no frame of kind 250 comes from a worker/],
    [
      'a limit too low',
      hexadecimal({ ...hello, frameBytesMax: 2 ** 20 }),
      /takes frames of at most 1048576 .* of 1073741824/,
    ],
    ['an answer to nothing', hexadecimal(hello, answer), /an answer to batch 5, but none was expected/],
  ])('by sending %s', async (name, bytes, message) => {
    const path = impostor(name.replaceAll(' ', '-'), `write('${bytes}'); setInterval(() => {}, 1000);`);
    const { reason } = await open({ workerPath: path }).until('gone');
    expect(reason).toMatch(/was ended by SIGKILL; it broke the protocol and was killed: /);
    expect(reason).toMatch(message);
  });

  test('by answering without an output that was asked for', async () => {
    const region = new HeapRegion(new Uint8Array(0));
    const empty = hexadecimal({ kind: 'answered', batch: 1, outputs: [], region, runMicros: 1 });
    const path = impostor(
      'answers-nothing',
      `let bytes = 0;
       write('${hexadecimal(hello)}');
       socket.on('data', (chunk) => {
         bytes += chunk.length;
         if (bytes > ${4 * columns}) write('${empty}');
       });`,
    );
    const probe = open({ workerPath: path });
    probe.dispatch(1, input(1), [0]);
    expect((await probe.until('gone')).reason).toMatch(
      /batch 1 was answered with outputs none, but the request was for 0/,
    );
  });

  test('by closing its socket while it lives on', async () => {
    const path = impostor('closes', `socket.destroy(); setInterval(() => {}, 1000);`);
    expect((await open({ workerPath: path }).until('gone')).reason).toMatch(/was ended by SIGKILL/);
  });
});

describe('a worker that speaks other versions of the protocol', () => {
  const { oldest, newest } = dispatchVersions;
  const openVersioned = (versions: string) =>
    open({ workerPath: versionedWorker, environment: { DISPATCH_VERSIONS: versions } });
  const load = { kind: 'load', spec: models.identity(1, columns) } as const;

  test.each([
    [`${newest + 1}-${newest + 5}`, `versions ${newest + 1} to ${newest + 5}`],
    [`${oldest - 1}-${oldest - 1}`, `version ${oldest - 1}`],
  ])('only %s, is refused, with both ranges named', async (versions, text) => {
    const probe = openVersioned(versions);
    probe.call((link) => link.send(load));
    const { reason } = await probe.until('gone');
    expect(reason).toMatch(/was ended by SIGKILL; it was refused: the worker supports /);
    expect(reason).toContain(
      `the worker supports ${text} of the dispatch protocol and the router supports version ${newest}`,
    );
    expect(reason).toContain(`run the worker of the router’s release, or another one that supports version ${newest}`);
    // It was sent nothing but a greeting: it would have granted credit.
    expect(probe.received.map(({ kind }) => kind)).toEqual(['gone']);
  });

  test('this one among them, is sent what waited for its greeting', async () => {
    const probe = openVersioned(`${oldest - 1}-${newest + 5}`);
    probe.call((link) => link.send(load));
    await probe.until('credit');
  });
});

describe('a worker that cannot be started is gone', () => {
  test('when there is no such program', async () => {
    const probe = open({ execPath: '/nowhere/node' });
    const { reason } = await probe.until('gone');
    expect(reason).toMatch(/\/nowhere\/node .*could not be started: .*ENOENT/);
    expect(probe.link.pid).toBeUndefined();
  });

  test('when there is no such file', async () => {
    const { reason } = await open({ workerPath: '/nowhere/worker.js' }).until('gone');
    expect(reason).toMatch(/exited with code 1; stderr: .*Cannot find module '\/nowhere\/worker.js'/);
  });

  test('when the operating system refuses to start a process', async () => {
    const received: FromWorker[] = [];
    const gone = new Promise<void>((resolve) => {
      createLocalLane({ workerPath: 'x\0y', sharedMemoryBytesMax: 0 }).open((message) => {
        received.push(message);
        resolve();
      });
      expect(received).toEqual([]);
    });
    await gone;
    expect(received).toMatchObject([{ kind: 'gone', reason: expect.stringMatching(/could not be started/) }]);
  });
});

describe('the worker process', () => {
  test('that could not map the memory is told of, and is lent ordinary memory', async () => {
    const greeting = hexadecimal(hello, { kind: 'credit', batchesMax: 1 });
    const path = impostor('unmapped', `write('${greeting}'); setInterval(() => {}, 1000);`);
    const reasons: string[] = [];
    const probe = open({ workerPath: path, onSharedMemoryUnavailable: (reason) => reasons.push(reason) });
    await probe.until('credit');
    expect(reasons).toEqual([`worker process ${probe.link.pid} could not map the shared memory it inherited`]);
    expect(probe.link.lend(100_000).bytes.buffer.byteLength).toBe(100_000);
  });

  test('has its own name and none of the router’s environment', async () => {
    vi.stubEnv('MILLRACE_LANE_TEST', 'secret');
    onTestFinished(() => void vi.unstubAllEnvs());
    const probe = open({ environment: { TZ: 'UTC' } });
    await probe.until('credit');
    const environment = readFileSync(`/proc/${probe.link.pid}/environ`, 'utf8').split('\0');
    const names = environment.filter((entry) => entry !== '').map((entry) => entry.split('=')[0]);
    expect(names).toEqual(['MALLOC_MMAP_THRESHOLD_', 'MALLOC_TRIM_THRESHOLD_', 'TZ']);
    expect(environment).toContain('TZ=UTC');
    expect(readFileSync(`/proc/${probe.link.pid}/cmdline`, 'utf8')).toMatch(/^millrace-worker/);
  });

  test('ignores SIGINT and SIGTERM: the router decides when it ends', async () => {
    const probe = open();
    await probe.load(models.identity(1, columns));
    process.kill(probe.link.pid ?? 0, 'SIGINT');
    process.kill(probe.link.pid ?? 0, 'SIGTERM');
    await probe.answered(probe.dispatch(1, input(1), [0]));
  });

  test('exits with code 0 when it was stopped', async () => {
    const probe = open();
    await probe.load(models.identity(1, columns));
    probe.call((link) => link.stop());
    expect((await probe.until('gone')).reason).toBe(`worker process ${probe.link.pid} exited with code 0`);
  });

  test('ends by an error that names the cause when it is sent more than it gave credit for', async () => {
    const probe = open();
    await probe.load(models.identity(1, columns));
    for (let batch = 0; batch < 3; batch++) probe.dispatch(1, input(1), [0]);
    expect((await probe.until('gone')).reason).toMatch(
      /exited with code 2; stderr: .*more than the 2 batches it had credit for/,
    );
  });

  test.each(['while it is idle', 'in the middle of a run'])('ends when its router is killed %s', async (when) => {
    const isRunning = when !== 'while it is idle';
    const script = `
      import { createLocalLane } from ${JSON.stringify(new URL('../../packages/router/dist/internal.js', import.meta.url).href)};
      const lane = createLocalLane({ workerPath: ${JSON.stringify(programs.worker)}, sharedMemoryBytesMax: 1048576 });
      const link = lane.open((message) => {
        if (message.kind === 'gone') throw new Error(message.reason);
        if (message.kind === 'ready') {
          if (${isRunning}) for (const [batch, count] of [[1, 1n], [2, 100000000000n]]) {
            const region = link.lend(8);
            new BigInt64Array(region.bytes.buffer, region.bytes.byteOffset, 1)[0] = count;
            link.send({ kind: 'dispatch', batch, model: 1, inputs: [{ index: 0, shape: [1], data: region.bytes }], outputs: [0], region });
          } else console.log(link.pid);
        }
        if (message.kind === 'answered') console.log(link.pid);
      });
      link.send({ kind: 'load', spec: ${JSON.stringify(models.counting(1))} });`;
    const router = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const line = await new Promise<string>((resolve) => createInterface(router.stdout).once('line', resolve));
    const pid = Number(line);
    expect(process.kill(pid, 0)).toBe(true);
    router.kill('SIGKILL');
    await untilEnded(pid);
  });
});

/** A process that is not our child has no event for its end; the test's own time limit bounds the wait. */
async function untilEnded(pid: number): Promise<void> {
  const isAlive = (): boolean => {
    try {
      // A process that nobody has waited for yet has ended all the same.
      return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
    } catch {
      return false;
    }
  };
  while (isAlive()) await new Promise((resolve) => setTimeout(resolve, 5));
}
