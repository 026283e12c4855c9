// Packs every package, installs the tarballs into an empty folder elsewhere, serves a model there and calls it.
import { execFileSync, spawn } from 'node:child_process';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');
const folder = mkdtempSync(join(tmpdir(), 'millrace-packed-'));
let passed = 0;
let failed = 0;
const check = (sentence, isTrue) => {
  console.log(`${isTrue ? 'ok' : 'NOT OK'} ${sentence}`);
  if (isTrue) passed += 1;
  else failed += 1;
};

try {
  const { workspaces } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  execFileSync(
    'npm',
    ['pack', '--silent', '--pack-destination', folder, ...workspaces.flatMap((name) => ['-w', name])],
    {
      cwd: root,
      stdio: ['ignore', 'ignore', 'inherit'],
    },
  );
  const tarballs = readdirSync(folder).filter((name) => name.endsWith('.tgz'));
  check('every package packs', tarballs.length === workspaces.length);
  for (const tarball of tarballs) checkContents(tarball);
  writeFileSync(
    join(folder, 'package.json'),
    '{"name":"elsewhere","private":true,"allowScripts":{"onnxruntime-node":false}}',
  );
  writeFileSync(join(folder, '.npmrc'), 'onnxruntime-node-install=skip\n');
  execFileSync('npm', ['install', '--silent', ...tarballs.map((name) => `./${name}`)], {
    cwd: folder,
    stdio: 'inherit',
  });
  const version = execFileSync('npx', ['--no-install', 'millrace', 'version'], { cwd: folder, encoding: 'utf8' });
  check('the command tells its version', /\d+\.\d+\.\d+/.test(version));
  copyFileSync(join(root, 'models/mlp/1/model.onnx'), join(folder, 'some.onnx'));
  await callServer();
} finally {
  rmSync(folder, { recursive: true, force: true });
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 && passed > 0 ? 0 : 1;

function checkContents(tarball) {
  const names = execFileSync('tar', ['tzf', join(folder, tarball)], { encoding: 'utf8' })
    .trim()
    .split('\n');
  check(`${tarball} carries the licence`, names.includes('package/LICENSE'));
  const needless = names.filter((name) => /\.test\.|\.bench\.|\.map$|\/src\/|malformed|echo-double/.test(name));
  check(`${tarball} carries nothing that only tests need${needless.map((name) => ` ${name}`)}`, needless.length === 0);
}

async function callServer() {
  const server = spawn(
    join(folder, 'node_modules/.bin/millrace'),
    ['serve', 'some.onnx', '--http-port', '0', '--grpc-port', '0', '--metrics-port', '0'],
    {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  const exit = new Promise((resolve) => server.once('exit', resolve));
  const lines = createInterface({ input: server.stdout });
  const url = await new Promise((resolve) => {
    lines.on('line', (line) => {
      const record = JSON.parse(line);
      if (record.message === 'listening') resolve(record.httpUrl);
    });
    lines.on('close', () => resolve(undefined));
  });
  check('the server starts from one file', url !== undefined);
  while ((await fetch(`${url}/v2/health/ready`)).status !== 200)
    await new Promise((resolve) => setTimeout(resolve, 100));
  const response = await fetch(`${url}/v2/models/some/infer`, {
    method: 'POST',
    body: JSON.stringify({
      inputs: [{ name: 'input', shape: [1, 64], datatype: 'FP32', data: new Array(64).fill(0.5) }],
    }),
  });
  const answer = await response.json();
  check('the model answers', response.status === 200 && answer.outputs[0].shape.at(-1) === 10);
  server.kill('SIGTERM');
  check('SIGTERM ends it with 0', (await exit) === 0);
}
