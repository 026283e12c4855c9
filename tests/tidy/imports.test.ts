import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root, type SourceFile, sourceFiles } from './source-files.ts';

/** Which packages a package may import: the arrows of ARCHITECTURE.md. */
const arrows: Readonly<Record<string, readonly string[]>> = {
  protocol: [],
  'shared-memory': [],
  http2: [],
  http: ['http2', 'protocol'],
  client: ['http2', 'protocol'],
  core: ['protocol'],
  onnx: ['protocol'],
  generation: ['protocol'],
  store: [],
  worker: ['generation', 'onnx', 'protocol', 'shared-memory'],
  router: ['core', 'generation', 'http', 'onnx', 'protocol', 'shared-memory', 'store'],
  millrace: ['core', 'generation', 'http', 'onnx', 'protocol', 'router', 'shared-memory', 'store', 'worker'],
};

/** Heavy dependencies, and the one package that may import each. */
const fences: Readonly<Record<string, string>> = {
  'onnxruntime-node': 'worker',
  koffi: 'shared-memory',
  lmdb: 'store',
  sharp: 'worker',
  amaro: 'worker',
  pino: 'millrace',
  ws: 'http',
  '@huggingface/jinja': 'generation',
  '@huggingface/tokenizers': 'generation',
};

const files = sourceFiles();
const shipped = files.filter((file) => !file.isTest);

test('the rules cover every package', () => {
  const { workspaces } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { workspaces: string[] };
  expect(new Set(Object.keys(arrows).map((name) => `packages/${name}`))).toEqual(new Set(workspaces));
  for (const name of Object.keys(arrows)) expect(files.some((file) => file.package === name)).toBe(true);
});

test('packages import only what their arrows allow, and declare it', () => {
  const problems: string[] = [];
  for (const file of shipped) {
    const manifest = JSON.parse(readFileSync(join(root, 'packages', file.package, 'package.json'), 'utf8')) as {
      dependencies?: Record<string, string>;
    };
    for (const { specifier } of file.imports) {
      if (specifier.startsWith('.') || specifier.startsWith('node:')) continue;
      const name = specifier.startsWith('@') ? specifier.split('/').slice(0, 2).join('/') : specifier.split('/')[0];
      if (!Object.hasOwn(manifest.dependencies ?? {}, name as string))
        problems.push(`${file.path}: ${name} is not declared`);
      const workspace = /^@millrace\/(.+)$/.exec(name as string)?.[1];
      if (workspace !== undefined && !arrows[file.package]?.includes(workspace)) {
        problems.push(`${file.path}: ${file.package} may not import ${workspace}`);
      }
      const owner = fences[name as string];
      if (owner !== undefined && owner !== file.package)
        problems.push(`${file.path}: only ${owner} may import ${name}`);
    }
  }
  expect(problems).toEqual([]);
});

test('no file imports itself through others', () => {
  const byPath = new Map(shipped.map((file) => [file.path, file]));
  const done = new Set<string>();
  const cycles: string[] = [];
  const visit = (file: SourceFile, trail: readonly string[]): void => {
    if (trail.includes(file.path)) cycles.push([...trail.slice(trail.indexOf(file.path)), file.path].join(' > '));
    if (done.has(file.path)) return;
    done.add(file.path);
    for (const { file: target, isTypeOnly } of file.imports) {
      const next = target === undefined || isTypeOnly ? undefined : byPath.get(target);
      if (next !== undefined) visit(next, [...trail, file.path]);
    }
  };
  for (const file of shipped) visit(file, []);
  expect(cycles).toEqual([]);
});

// One file sets a variable: ONNX Runtime has no other switch for its telemetry.
const environmentSetter = 'packages/worker/src/onnxruntime/telemetry-off.ts';

test('only the composition root reads the environment', () => {
  const readers = shipped.filter((file) => /\bprocess\.(env|argv)\b/.test(file.text)).map((file) => file.path);
  expect(readers).toEqual([
    'packages/millrace/src/main.ts',
    'packages/millrace/src/router-main.ts',
    'packages/millrace/src/worker-environment.ts',
    environmentSetter,
  ]);
});

test('the engine is imported only where its telemetry has been turned off before', () => {
  const importers = files.filter((file) =>
    file.imports.some(({ specifier, isTypeOnly }) => specifier === 'onnxruntime-node' && !isTypeOnly),
  );
  expect(importers.map((file) => file.path)).toEqual(['packages/worker/src/onnxruntime/onnxruntime.ts']);
  const [importer] = importers;
  expect(importer?.imports.map(({ file, specifier }) => file ?? specifier)).toEqual([
    environmentSetter,
    'onnxruntime-node',
  ]);
});

test('core reads no clock, draws no randomness and does no I/O', () => {
  const impure =
    /\b(Date\.now|new Date|performance\.now|Math\.random|setTimeout|setImmediate|queueMicrotask|Promise|async)\b/;
  const problems = shipped
    .filter((file) => file.package === 'core')
    .filter((file) => impure.test(codeOf(file)) || file.imports.some(({ specifier }) => specifier.startsWith('node:')));
  expect(problems.map((file) => file.path)).toEqual([]);
});

test('protocol loads in a browser', () => {
  const problems = shipped
    .filter((file) => file.package === 'protocol')
    .filter(
      (file) =>
        /\b(Buffer|process|require)\b/.test(codeOf(file)) ||
        file.imports.some(({ specifier }) => specifier.startsWith('node:')),
    );
  expect(problems.map((file) => file.path)).toEqual([]);
});

/** Folders of `edges` that edges have in common; every other one is an edge. */
const sharedByEdges = ['classification', 'gate', 'protobuf', 'repository', 'routing', 'slices', 'streams'];

// Management has an edge of each kind, and takes the encoding of its errors and bodies from the inference edges of those kinds.
test('an edge of inference knows no other edge', () => {
  const edgeOf = (path: string): string | undefined => {
    const folder = /\/edges\/([^/]+)\//.exec(path)?.[1];
    return folder === undefined || sharedByEdges.includes(folder) ? undefined : folder;
  };
  const problems: string[] = [];
  for (const { path, imports } of shipped) {
    const edge = edgeOf(path);
    if (edge === undefined || edge === 'management') continue;
    for (const { file: target = '' } of imports) {
      if ((edgeOf(target) ?? edge) !== edge) problems.push(`${path} may not import ${target}`);
    }
  }
  expect(problems).toEqual([]);
});

// A server runs without the command: what both need lies beside them, and the command knows the server by that contract.
test('only the program knows the command line, and the command line does not know how the server is made', () => {
  const commandLine = 'packages/millrace/src/cli/';
  const program = 'packages/millrace/src/run-in-process.ts';
  const makers = ['compose', 'engine', 'assemble', 'open-serving'].map((name) => `packages/millrace/src/${name}.ts`);
  const problems: string[] = [];
  for (const file of shipped) {
    const isCommandLine = file.path.startsWith(commandLine);
    for (const { file: target } of file.imports) {
      if (target === undefined || file.path === program) continue;
      const isAllowed = isCommandLine ? !makers.includes(target) : !target.startsWith(commandLine);
      if (!isAllowed) problems.push(`${file.path} may not import ${target}`);
    }
  }
  expect(problems).toEqual([]);
  for (const path of [program, ...makers]) expect(shipped.map((file) => file.path)).toContain(path);
});

test('no unfinished marks stand in the sources', () => {
  const marks = files.filter((file) => /\b(TODO|FIXME|XXX)\b/.test(file.text)).map((file) => file.path);
  expect(marks).toEqual([]);
});

/** The text without comments, so that prose may name what code may not use. */
function codeOf(file: SourceFile): string {
  return file.text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/(^|\s)\/\/.*$/gm, '');
}
