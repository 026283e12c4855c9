/** Pipelines with faulty or hostile code: each gets a named error, and its process, the server and other pipelines keep running. */
import { InferenceError } from '@millrace/protocol';
import { binaryModel, ModelRepository } from '@millrace/worker/testing';
import { createEngine, type EmbeddedEngine } from 'millrace';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';

const pipeline = (inputs: string, outputs: string, body: string) => `
import { definePipeline, invalid } from 'millrace/pipeline';
export default definePipeline({
  inputs: { ${inputs} },
  outputs: { ${outputs} },
  async run({ inputs }, context) { ${body} },
});`;
/** Does what its input says, so that one process does one bad thing after the other. */
const obedient = pipeline(
  `code: { datatype: 'BYTES', shape: [1] }`,
  `y: { datatype: 'FP32', shape: [-1] }, pid: { datatype: 'INT32', shape: [1] }`,
  `const code = new TextDecoder().decode(inputs.code.data[0]);
   const pid = { data: Int32Array.of(process.pid) };
   return new Function('context', 'invalid', 'pid', \`return (async () => { \${code} })()\`)(context, invalid, pid);`,
);
const calling = (model: string) =>
  pipeline(
    `x: { datatype: 'FP32', shape: [1] }`,
    `y: { datatype: 'FP32', shape: [1] }`,
    `return { y: (await context.infer('${model}', { x: inputs.x })).y };`,
  );
const runMsMax = (value: number) =>
  `backend: "pipeline" parameters { key: "millrace.run_ms_max" value { string_value: "${value}" } }`;

const repository = new ModelRepository();
let engine: EmbeddedEngine;
beforeAll(async () => {
  repository
    .write('add/1/model.onnx', binaryModel('Add'))
    .write('obedient/1/pipeline.js', obedient)
    .write('hurried/1/pipeline.js', obedient)
    .write('hurried/config.pbtxt', runMsMax(500))
    .write('limited/1/pipeline.js', obedient)
    .write('limited/config.pbtxt', runMsMax(1000))
    .write('ping/1/pipeline.js', calling('pong'))
    .write('pong/1/pipeline.js', calling('ping'))
    .write('broken/1/pipeline.js', `throw new Error('at the top');`);
  engine = await createEngine({ models: repository.path, allowFailures: true });
});
afterAll(async () => {
  await engine.close();
  repository.remove();
});
afterEach(async () => {
  const { outputs } = await engine.infer('add', {
    left: { shape: [1, 2], data: [3, 3] },
    right: { shape: [1, 2], data: [4, 4] },
  });
  expect(outputs.output?.data).toEqual(Float32Array.of(7, 7));
});

async function run(code: string, model = 'obedient') {
  const { outputs } = await engine.infer(model, { code: { shape: [1], data: [code] } });
  return { y: outputs.y?.data, pid: (outputs.pid?.data as Int32Array | undefined)?.[0] };
}

async function failureOf(promise: Promise<unknown>): Promise<string> {
  const error = await promise.then(
    () => 'it was answered',
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(InferenceError);
  return `${(error as InferenceError).code}: ${(error as InferenceError).message}`;
}

const good = 'return { y: { data: Float32Array.of(1) }, pid };';
const given = (tensor: string) => `return { y: ${tensor}, pid };`;
const infer = (...values: readonly string[]) => `await context.infer(${values.join(', ')}); ${good}`;
const sum = `(await context.infer('add', {
  left: { data: Float32Array.of(3, 3), shape: [1, 2] }, right: { data: Float32Array.of(4, 4), shape: [1, 2] },
})).output.data[0]`;

describe('wrong code gets an error that says what is wrong, and its process keeps running', () => {
  test.each([
    ['return;', /^inference-failed: run returned undefined; return an object with y, pid$/],
    ['return null;', /^inference-failed: run returned null; /],
    ['return { z: 1 };', /^inference-failed: output 'y' is missing; give \{ data, shape \}$/],
    [given('1'), /output 'y' is missing/],
    [given('{ data: [1, 2] }'), /output 'y' is BYTES, but FP32 is declared/],
    [given('{ data: Int32Array.of(1) }'), /output 'y' is INT32, but FP32 is declared/],
    [given(`{ data: Int32Array.of(1), datatype: 'FP32' }`), /output 'y' says FP32, but its data is INT32/],
    [given(`{ data: Float32Array.of(1), datatype: 'FP33' }`), /output 'y' says FP33, but its data is FP32/],
    [given('{ data: Float32Array.of(1), shape: [2] }'), /output 'y' has 1 elements, but its shape is \[2\]/],
    [given('{ data: Float32Array.of(1, 1), shape: [-2, -1] }'), /shape of output 'y' must be a list of whole numbers/],
    [given('{ data: Float32Array.of(1), shape: 1 }'), /shape of output 'y' must be a list of whole numbers/],
    [given(`{ data: Float32Array.of(1), shape: ['1'] }`), /shape of output 'y' must be a list of whole numbers/],
    [given('{ data: new DataView(new ArrayBuffer(4)) }'), /neither a typed array nor a list of text or bytes/],
    [given(`{ get data() { throw new Error('not now'); } }`), /^inference-failed: not now/],
    [`throw 'text';`, /^inference-failed: text$/],
    ['throw undefined;', /^inference-failed: undefined$/],
    [
      'throw Object.create(null);',
      /^inference-failed: it threw a value that cannot be converted to text; throw an Error$/,
    ],
    [`throw { toString() { throw new Error('x'); } };`, /cannot be converted to text/],
    [`throw new Proxy({}, { getPrototypeOf() { throw 1; }, get() { throw 1; } });`, /cannot be converted to text/],
    [`throw Object.assign(new Error('x'), { message: { a: 1 }, stack: 7 });`, /^inference-failed: \[object Object\]$/],
    [`throw Object.assign(invalid('x'), { code: 'nonsense' });`, /^inference-failed: x \(pipeline\.js:8\)$/],
    [`throw new Error('x'.repeat(10_000_000));`, /^inference-failed: x{2000}…( \(pipeline\.js:\d+\))?$/],
    ['const call = () => call(); call();', /^inference-failed: Maximum call stack size exceeded/],
    [infer(`'nobody'`, '{}'), /^model-not-ready: .*'nobody' is not found$/],
    [infer(`'add'`, '{}', `{ version: '99' }`), /^model-not-ready: .*'add' version 99 is not found$/],
    [infer(`'broken'`, '{}'), /^model-not-ready: .*broken\/1\/pipeline\.js: at the top \(pipeline\.js:1\)$/],
    [infer(), /infer needs the name of a model/],
    [infer(`'add'`, 'null'), /the inputs for 'add' must be an object of tensors/],
    [infer(`'add'`, '{ left: null }'), /input 'left' is missing/],
    [infer(`'add'`, '{}', 'null'), /the options for 'add' must be an object/],
    [infer(`'add'`, '{}', '{ version: 7 }'), /the version of 'add' must be a string/],
    [infer(`'add'`, '{}', '{ outputs: [7] }'), /the outputs requested from 'add' must be a list of names/],
    [infer(`'add'`, '{}', '{ timeoutMs: NaN }'), /timeoutMs is NaN/],
    [infer(`'add'`, '{}', '{ signal: 7 }'), /signal must be an AbortSignal/],
    [infer(`'add'`, '{ left: { data: Float32Array.of(1), shape: [-1, -1] } }'), /shape of input 'left' must be a list/],
    [infer(`'add'`, '{ left: { data: new Float32Array(0), shape: [2 ** 53, 0] } }'), /shape of input 'left' must be a/],
    [
      infer(`'x'.repeat(1e6)`, '{}'),
      /^model-not-ready: .* calls model 'x{100,300}…' .*: Request for unknown model: 'x{100,300}…' \(1000000 characters\) is not found$/,
    ],
    ['await context.images.decode();', /a picture must be given as bytes/],
    [
      `await Promise.all(Array.from({ length: 1025 }, async () => ${sum}));`,
      /^inference-failed: one request made more than 1024 calls \(callsPerBatchMax\)/,
    ],
  ])('%s', async (code, message) => {
    const before = await run(good);
    expect(await failureOf(run(code))).toMatch(message);
    expect(await run(good)).toEqual(before);
  });
});

describe('unusual code is answered, and its process keeps running', () => {
  test.each([
    ['that forgets what fails', `Promise.reject(Object.create(null)); Promise.reject(1); ${good}`],
    ['that forgets its calls', `context.infer('nobody', {}); context.infer(null); ${good}`],
    [
      'that answers twice',
      `return { then(answer) { answer({ y: { data: Float32Array.of(1) }, pid }); answer(null); } };`,
    ],
    ['that keeps its context', `globalThis.kept = context; ${good}`],
    [
      'that uses a context when its run has ended',
      `const { code } = await globalThis.kept.infer('add', {}).catch((error) => error);
       if (code !== 'cancelled') throw new Error(code); ${good}`,
    ],
    [
      'that calls a thousand times at once',
      `const sums = await Promise.all(Array.from({ length: 1000 }, async () => ${sum}));
       return { y: { data: Float32Array.of(sums.filter((sum) => sum === 7).length / 1000) }, pid };`,
    ],
  ])('%s', async (_, code) => {
    const before = await run(good);
    expect(await run(code)).toEqual(before);
    expect(await run(good)).toEqual(before);
  });
});

describe('code that ends its process is poison, and its process is replaced', () => {
  test.each([
    ['by leaving', 'process.exit(0);'],
    ['by a signal', `process.kill(process.pid, 'SIGKILL');`],
    ['by an error that nobody can catch', `setTimeout(() => { throw new Error('x'); }); await new Promise(() => {});`],
    ['by closing its socket', `process.getBuiltinModule('fs').closeSync(3); await new Promise(() => {});`],
    [
      'by talking nonsense to the router',
      `process.getBuiltinModule('fs').writeSync(3, Buffer.alloc(99, 255)); await new Promise(() => {});`,
    ],
  ])('%s', async (_, code) => {
    const { pid } = await run(good);
    expect(await failureOf(run(code))).toMatch(/^poison-request: /);
    expect((await run(good)).pid).not.toBe(pid);
  });

  test('one that never answers is ended at its limit', async () => {
    expect(await failureOf(run('await new Promise(() => {});', 'hurried'))).toMatch(/^run-time-limit: /);
    expect((await run(good, 'hurried')).y).toEqual(Float32Array.of(1));
  });
});

describe('code that hangs, beside requests that do not', () => {
  // Long enough to be under way when the other one is, and far within the limit.
  const slow = `await new Promise((resolve) => setTimeout(resolve, 100)); ${good}`;

  test.each([
    ['waiting for what never comes', 'await new Promise(() => {});'],
    ['keeping the process from all others', 'for (;;);'],
  ])('%s, it alone is refused, and every other is answered', async (_, code) => {
    const before = Array.from({ length: 4 }, () => run(slow, 'limited'));
    const failure = failureOf(run(code, 'limited'));
    const after = Array.from({ length: 8 }, () => run(slow, 'limited'));
    expect(await failure).toMatch(/^run-time-limit: /);
    for (const { y } of await Promise.all([...before, ...after])) expect(y).toEqual(Float32Array.of(1));
  });

  test('a request that ends the process fails no other request', async () => {
    const before = Array.from({ length: 4 }, () => run(slow));
    const failure = failureOf(run('process.exit(0);'));
    const after = Array.from({ length: 8 }, () => run(slow));
    expect(await failure).toMatch(/^poison-request: /);
    for (const { y } of await Promise.all([...before, ...after])) expect(y).toEqual(Float32Array.of(1));
  });
});

test('two pipelines that call each other are refused with that reason', async () => {
  const failure = await failureOf(engine.infer('ping', { x: { shape: [1], data: [1] } }));
  expect(failure).toBe(
    'inference-failed: a model must not call itself, directly or through others: ping calls pong calls ping',
  );
});

test('an answer that exceeds the longest message is refused with its size', async () => {
  const code = given('{ data: new Float32Array(2 ** 28) }');
  expect(await failureOf(run(code))).toMatch(
    /^unsupported: the answer of \d+ bytes exceeds the longest message to the router/,
  );
});
