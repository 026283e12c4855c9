import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Config } from '../config/fields.ts';
import { configFileBytesMax } from '../config/yaml-layer.ts';
import { runArguments } from '../testing/run-arguments.ts';
import { ServerDouble, servedModelStatus } from '../testing/server-double.ts';

let folder = '';

beforeAll(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'millrace-command-'));
  mkdirSync(path.join(folder, 'models'));
  writeFileSync(path.join(folder, 'good.yaml'), 'server:\n  httpPort: 9000\nmodels:\n  paths: models\n');
  writeFileSync(path.join(folder, 'bad.yaml'), 'server:\n  httpPort: x\n');
  writeFileSync(path.join(folder, 'huge.yaml'), '#'.repeat(configFileBytesMax + 1));
});

afterAll(() => rmSync(folder, { recursive: true }));

async function run(args: string[], environment: Record<string, string> = {}) {
  let config: Config | undefined;
  const written = await runArguments({
    args,
    environment,
    cwd: folder,
    signals: {
      // The first thing a server is told here is to stop.
      on: (signal: string, listener: () => void) => void (signal === 'SIGTERM' && queueMicrotask(listener)),
      off: () => undefined,
    },
    startServer: (resolved) => {
      config = resolved;
      return Promise.resolve(new ServerDouble([servedModelStatus()]));
    },
    delay: () => new Promise(() => {}),
  });
  return { ...written, config };
}

test.each([[[]], [['--help']], [['-h']], [['help']]])('%j shows the general help', async (args) => {
  expect(await run(args)).toMatchObject({
    code: 0,
    stderr: '',
    stdout: expect.stringContaining('Usage: millrace COMMAND'),
  });
});

test.each([[['serve', '--help']], [['serve', '-h', '--nonsense']], [['help', 'serve']]])(
  '%j shows the help of serve',
  async (args) => {
    expect(await run(args)).toMatchObject({ code: 0, stdout: expect.stringContaining('Usage: millrace serve') });
  },
);

test.each([[['--version']], [['-V']], [['serve', '--version']]])('%j shows the version', async (args) => {
  expect(await run(args)).toMatchObject({ code: 0, stdout: '0.1.0\n' });
});

test('version shows the version of Node.js too, and prints JSON with --json', async () => {
  expect((await run(['version'])).stdout).toBe(`millrace 0.1.0 (Node.js ${process.version})\n`);
  expect(JSON.parse((await run(['version', '--json'])).stdout)).toEqual({ millrace: '0.1.0', node: process.version });
});

test.each([
  [['srve'], 'millrace: srve is not a command of millrace. Did you mean serve? millrace --help lists them.\n'],
  [['--sreve'], 'millrace: --sreve is not a flag of millrace. Did you mean serve? millrace --help lists them.\n'],
  [['version', '--jsno'], 'millrace: --jsno: is not a flag of millrace version. Did you mean --json?\n'],
  [['completion'], 'millrace completion: needs the name of a shell: bash, zsh, fish\n'],
  [['completion', 'tcsh'], 'millrace completion: does not support tcsh; give one of these: bash, zsh, fish\n'],
])('%j is refused with 2', async (args, stderr) => {
  expect(await run(args)).toMatchObject({ code: 2, stdout: '', stderr });
});

test('serve gets its configuration from file, variables, flags and arguments', async () => {
  const { code, config } = await run(['serve', '--config', 'good.yaml', '--id', 'flag'], {
    MILLRACE_METRICS_PORT: '9002',
  });
  expect(code).toBe(0);
  expect(config?.server).toEqual({
    id: 'flag',
    callerHeader: '',
    trustedProxies: [],
    host: '127.0.0.1',
    pollMicrosMax: 200,
    allowedHosts: [],
    httpPort: 9000,
    grpcPort: 8001,
    metricsPort: 9002,
    supervise: true,
  });
  expect(config?.models.paths).toEqual([path.join(folder, 'models')]);
  const byVariable = await run(['serve', 'models', '--models', folder], { MILLRACE_CONFIG: 'good.yaml' });
  expect(byVariable.config?.server.httpPort).toBe(9000);
  expect(byVariable.config?.models.paths).toEqual([path.join(folder, 'models'), folder]);
});

test.each<[string, string[], Record<string, string>, RegExp]>([
  ['no folder', ['serve'], {}, /^millrace serve: models\.paths: is empty; run millrace serve \.\/models/],
  ['a folder that is not there', ['serve', 'nope'], {}, /models\.paths: \S*nope does not exist\n$/],
  [
    'a file for a folder',
    ['serve', 'good.yaml'],
    {},
    /good\.yaml is neither a folder of models nor an \.onnx file; give one of these\n$/,
  ],
  [
    'a file that is not there',
    ['serve', 'models', '--config', 'no.yaml'],
    {},
    /^millrace: --config: no\.yaml does not exist\n/,
  ],
  [
    'a folder for a file',
    ['serve', 'models'],
    { MILLRACE_CONFIG: 'models' },
    /^millrace: MILLRACE_CONFIG: models is a folder, not a file\n/,
  ],
  ['a file too large', ['serve', 'models', '--config', 'huge.yaml'], {}, /huge\.yaml is larger than 1048576 bytes/],
  [
    'a value of the file',
    ['serve', 'models', '--config', 'bad.yaml'],
    {},
    /^millrace: bad\.yaml:2: server\.httpPort: must be/,
  ],
  [
    'everything at once',
    ['serve', 'nope', '--config', 'bad.yaml', '--lane', 'x', '--nonsense'],
    { MILLRACE_ID: '?' },
    /^(millrace: .*\n){4}$/,
  ],
])('%s is refused with 2 before anything is opened', async (_title, args, environment, stderr) => {
  const result = await run(args, environment);
  expect(result.code).toBe(2);
  expect(result.stderr).toMatch(stderr);
  expect(result.config).toBeUndefined();
});

test('a folder without permission is reported as such', async () => {
  const closed = path.join(folder, 'closed');
  mkdirSync(closed);
  chmodSync(closed, 0o000);
  const { code, stderr } = await run(['serve', 'closed']);
  chmodSync(closed, 0o755);
  // Root may read everything.
  if (process.getuid?.() === 0) expect(code).toBe(0);
  else expect(stderr).toContain('permission denied; check its owner and mode');
});
