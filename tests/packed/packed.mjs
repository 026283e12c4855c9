/** Packs the workspaces, checks the tarballs, installs them into an empty folder and calls a server from there. */
import { execFileSync, spawn } from 'node:child_process';
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/**
 * @typedef {{ name: string, version: string, path: string, files: string[] }} Tarball
 * @typedef {(sentence: string, isTrue: boolean) => void} Check
 */

/**
 * In the order of the workspaces, which is that of their dependencies: what a package needs comes before it.
 * @returns {Tarball[]}
 */
export function packWorkspaces(root, folder) {
  const { workspaces } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const chosen = workspaces.flatMap((workspace) => ['-w', workspace]);
  // The project turns scripts off; `prepack` copies the licence. In the background, or its output mixes with the JSON.
  const scripts = ['--ignore-scripts=false', '--foreground-scripts=false'];
  const output = execFileSync('npm', ['pack', '--json', ...scripts, '--pack-destination', folder, ...chosen], {
    cwd: root,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 64 * 1024 * 1024,
  });
  return JSON.parse(output).map(({ name, version, filename, files }) => ({
    name,
    version,
    path: join(folder, filename),
    files: files.map(({ path }) => path),
  }));
}

/** @param {Tarball[]} tarballs @param {Check} check */
export function checkContents(tarballs, check) {
  for (const { name, files } of tarballs) {
    check(`${name} carries the licence`, files.includes('LICENSE'));
    if (name === 'millrace') {
      check(`${name} carries the licences of what is bundled`, files.includes('bundle/LICENSES.txt'));
    }
    const needless = files.filter((file) => /\.test\.|\.bench\.|\.map$|(^|\/)src\/|malformed|echo-double/.test(file));
    check(`${name} carries nothing that only tests need${needless.map((file) => ` ${file}`)}`, needless.length === 0);
  }
}

/**
 * Packages from elsewhere come from npm's cache where it has them, so that after `npm ci` no network is needed.
 * @param {Tarball[]} tarballs @param {Check} check
 */
export async function checkInstalled(root, tarballs, check) {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-packed-'));
  try {
    writeFileSync(join(folder, 'package.json'), '{"name":"elsewhere","private":true}');
    writeFileSync(join(folder, '.npmrc'), 'ignore-scripts=true\n');
    execFileSync('npm', ['install', '--silent', '--prefer-offline', ...tarballs.map(({ path }) => path)], {
      cwd: folder,
      stdio: 'inherit',
    });
    const printed = execFileSync('npx', ['--no-install', 'millrace', 'version'], { cwd: folder, encoding: 'utf8' });
    const version = tarballs.find(({ name }) => name === 'millrace')?.version;
    check(`millrace version prints ${version}`, printed.startsWith(`millrace ${version} `));
    copyFileSync(join(root, 'tests/models/mlp/1/model.onnx'), join(folder, 'some.onnx'));
    await checkServer(root, folder, check);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function checkServer(root, folder, check) {
  const server = spawn(
    join(folder, 'node_modules/.bin/millrace'),
    ['serve', 'some.onnx', '--http-port', '0', '--grpc-port', '0', '--metrics-port', '0'],
    { cwd: folder, stdio: ['ignore', 'pipe', 'inherit'] },
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
  if (url === undefined) return;
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
  checkClient(root, folder, url, check);
  server.kill('SIGTERM');
  check('SIGTERM ends it with 0', (await exit) === 0);
}

/** The installed client: in Node, as a browser would load it, and for the compiler with both ways to resolve packages. */
function checkClient(root, folder, url, check) {
  const program = `
import { createClient } from '@millrace/client';
import { audioChunks } from '@millrace/client/audio';
import { createManagement } from '@millrace/client/management';
const client = createClient('${url}');
const { outputs } = await client.infer('some', { input: { shape: [1, 64], data: new Float32Array(64).fill(0.5) } });
const [{ model, state }] = await createManagement('${url}').contexts();
console.log(Object.values(outputs)[0].shape.join(), model, state, typeof audioChunks);
`;
  writeFileSync(join(folder, 'call.mjs'), program);
  const printed = execFileSync(process.execPath, ['call.mjs'], { cwd: folder, encoding: 'utf8' });
  check('the installed client calls it, and manages it', printed === '1,10 some ready function\n');
  const manifest = JSON.parse(readFileSync(join(folder, 'node_modules/@millrace/client/package.json'), 'utf8'));
  const page = readFileSync(join(folder, 'node_modules/@millrace/client', manifest.exports['.'].default), 'utf8');
  check('its entry for browsers is another one', !page.includes('grpc') && page.includes('createClient'));
  writeFileSync(join(folder, 'typed.mts'), program);
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  for (const [module, resolution] of [
    ['nodenext', 'nodenext'],
    ['esnext', 'bundler'],
  ]) {
    const options = ['--noEmit', '--strict', '--target', 'es2023', '--lib', 'es2023,dom', '--types', ''];
    const how = ['--module', module, '--moduleResolution', resolution, '--ignoreConfig'];
    let problems = '';
    try {
      execFileSync(process.execPath, [tsc, ...options, ...how, join(folder, 'typed.mts')], {
        cwd: folder,
        encoding: 'utf8',
      });
    } catch (error) {
      problems = error.stdout;
    }
    check(`its types resolve with ${resolution} ${problems}`.trim(), problems === '');
  }
}
