import { execFileSync } from 'node:child_process';
import { mkdtemp, open, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { varint } from '@millrace/protocol';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type ByteSource, byteSourceFromBytes } from './byte-source.ts';
import { OnnxFileError } from './onnx-file-error.ts';
import { initializersMax, metadataBytesMax, readOnnxFile, readOnnxGraph, tensorsMax } from './read-onnx-graph.ts';
import { dimensionsMax, nameBytesMax } from './read-value-info.ts';
import { field, modelBytes, tensorInfo } from './testing/model-bytes.ts';
import { windowBytes } from './wire-reader.ts';

const read = (bytes: Uint8Array) => readOnnxGraph(byteSourceFromBytes(bytes));

test('a model declares its inputs and outputs', async () => {
  const graph = await read(
    modelBytes({
      inputs: [tensorInfo('x', 1, ['batch', 3, 224, 224]), tensorInfo('ids', 7, ['batch', 'length'])],
      outputs: [tensorInfo('y', 10, [1]), tensorInfo('scalar', 9, []), tensorInfo('any', 8, undefined)],
      modelFields: [
        field(3, '1.2'),
        field(8, [field(1, 'com.example'), field(2, 3)]),
        field(14, [field(1, 'author'), field(2, 'somebody')]),
      ],
    }),
  );
  expect(graph).toEqual({
    irVersion: 10,
    opsets: new Map([
      ['', 21],
      ['com.example', 3],
    ]),
    producerName: 'tests',
    producerVersion: '1.2',
    graphName: 'test-graph',
    inputs: [
      { name: 'x', kind: 'tensor', elementType: 1, shape: ['batch', 3, 224, 224] },
      { name: 'ids', kind: 'tensor', elementType: 7, shape: ['batch', 'length'] },
    ],
    defaultedInputs: [],
    outputs: [
      { name: 'y', kind: 'tensor', elementType: 10, shape: [1] },
      { name: 'scalar', kind: 'tensor', elementType: 9, shape: [] },
      { name: 'any', kind: 'tensor', elementType: 8, shape: undefined },
    ],
    metadata: new Map([['author', 'somebody']]),
    hasConvolutions: false,
    emptyHazard: undefined,
    externalFiles: [],
  });
});

test('convolutions are seen, in the functions of the file too', async () => {
  const node = (operator: string) => [field(1, 'x'), field(2, 'y'), field(4, operator)];
  const hasConvolutions = async (parts: Parameters<typeof modelBytes>[0]) =>
    (await read(modelBytes(parts))).hasConvolutions;
  expect(await hasConvolutions({ graphFields: [field(1, node('MatMul')), field(1, node('Relu'))] })).toBe(false);
  expect(await hasConvolutions({ graphFields: [field(1, node('Conv')), field(1, node('Relu'))] })).toBe(true);
  expect(
    await hasConvolutions({ modelFields: [field(25, [field(1, 'block'), field(7, node('ConvTranspose'))])] }),
  ).toBe(true);
});

test('inputs that the file has a value for are apart, sparse ones too', async () => {
  const graph = await read(
    modelBytes({
      inputs: [tensorInfo('x', 1, [1]), tensorInfo('w', 1, [4]), tensorInfo('s', 1, [4])],
      graphFields: [field(5, [field(8, 'w'), field(9, new Uint8Array(16))]), field(15, [field(1, [field(8, 's')])])],
    }),
  );
  expect(graph.inputs.map(({ name }) => name)).toEqual(['x']);
  expect(graph.defaultedInputs.map(({ name }) => name)).toEqual(['w', 's']);
});

test('weights in other files are named once each', async () => {
  const weight = (name: string, file: string) =>
    field(5, [
      field(8, name),
      field(13, [field(1, 'location'), field(2, file)]),
      field(13, [field(1, 'offset'), field(2, '4096')]),
      field(14, 1),
    ]);
  const { externalFiles } = await read(
    modelBytes({ graphFields: [weight('a', 'weights.bin'), weight('b', 'weights.bin'), weight('c', 'more.bin')] }),
  );
  expect(externalFiles).toEqual(['weights.bin', 'more.bin']);
});

test('a size of zero, minus one or beyond counting is free', async () => {
  const { inputs } = await read(modelBytes({ inputs: [tensorInfo('x', 1, [0, -1, 5])] }));
  expect(inputs[0]?.shape).toEqual(['', '', 5]);
});

test.each([
  [4, 'sequence'],
  [5, 'map'],
  [8, 'sparse-tensor'],
  [9, 'optional'],
  [7, 'unknown'],
])('a value of type field %i is a %s', async (number, kind) => {
  const info = Buffer.concat([field(1, 'x'), field(2, [field(number, [])])]);
  expect((await read(modelBytes({ inputs: [info] }))).inputs[0]).toMatchObject({ name: 'x', kind });
});

describe('a file that is not a whole model', () => {
  const nameless = Buffer.concat([field(2, [field(1, [])])]);
  test.each<[title: string, bytes: Uint8Array, message: RegExp]>([
    ['is empty', new Uint8Array(0), /the file is empty/],
    ['is a pointer to a large file', Buffer.from('version https://git-lfs.github.com/spec/v1\n'), /git lfs pull/],
    ['is a web page', Buffer.from('<!DOCTYPE html><html><body>404</body></html>'), /damaged|truncated/],
    ['is zeros', new Uint8Array(100), /byte 0 is not the start of a field/],
    ['has no graph', field(1, 10), /contains no graph; is it an ONNX model\?/],
    ['has no IR version', field(7, [field(12, tensorInfo('y', 1, [1]))]), /does not state its IR version/],
    ['has no outputs', modelBytes({ outputs: [] }), /has no outputs/],
    ['has a nameless input', modelBytes({ inputs: [nameless] }), /has no name/],
    [
      'has two inputs of one name',
      modelBytes({ inputs: [tensorInfo('x', 1, []), tensorInfo('x', 1, [])] }),
      /two inputs named "x"/,
    ],
    ['has an endless number', Buffer.concat([varint(8), new Uint8Array(11).fill(0xff)]), /longer than 10 bytes/],
    ['has a group', Buffer.from([0x0b, 0x0c]), /wire type that ONNX files do not use/],
    ['ends inside a fixed value', Buffer.from([0x09, 1, 2]), /incomplete/],
    [
      'has a field that outgrows its message',
      Buffer.from([0x3a, 0x7f, 1]),
      /field 7 at byte 0 declares 127 bytes where 1 are left/,
    ],
    [
      'claims more bytes than there are numbers',
      Buffer.from([0x3a, ...new Uint8Array(9).fill(0xff), 1]),
      /declares 18446744073709551615 bytes/,
    ],
    [
      'has a name without end',
      modelBytes({ inputs: [tensorInfo('x'.repeat(nameBytesMax + 1), 1, [])] }),
      /the name of an input or output at byte \d+ has 16385 bytes, more than 16384/,
    ],
    [
      'has too many dimensions',
      modelBytes({ inputs: [tensorInfo('x', 1, Array<number>(dimensionsMax + 1).fill(1))] }),
      /more than 64 dimensions/,
    ],
    [
      'has too many inputs',
      modelBytes({ inputs: Array.from({ length: tensorsMax + 1 }, (_, i) => tensorInfo(`x${i}`, 1, [])) }),
      /more than 4096 inputs/,
    ],
    [
      'has too many initializers',
      modelBytes({ graphFields: [Buffer.alloc(2 * (initializersMax + 1), field(5, []))] }),
      /more than 1000000 initializers/,
    ],
    [
      'has too many operator sets',
      modelBytes({ modelFields: Array.from({ length: 300 }, (_, i) => field(8, [field(1, `d${i}`)])) }),
      /more than 256 operator sets/,
    ],
    [
      'has weights in too many files',
      modelBytes({
        graphFields: Array.from({ length: 4097 }, (_, i) =>
          field(5, [field(13, [field(1, 'location'), field(2, `${i}`)])]),
        ),
      }),
      /more than 4096 files/,
    ],
  ])('%s: it is refused with a message', async (_, bytes, message) => {
    const error = await read(bytes).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(OnnxFileError);
    expect((error as Error).message).toMatch(message);
  });

  test('cut at any byte it is refused, or it is a shorter whole model', async () => {
    const bytes = modelBytes({ modelFields: [field(14, [field(1, 'k'), field(2, 'v')])] });
    for (let length = 0; length < bytes.length; length += 1) {
      const result = await read(bytes.subarray(0, length)).catch((thrown: unknown) => thrown);
      if (result instanceof Error) expect(result).toBeInstanceOf(OnnxFileError);
      else expect(result).toMatchObject({ irVersion: 10 });
    }
  });

  const damages = process.env.TEST_LONG === '1' ? 1500 : 300;

  test('with any bytes changed it is read or refused, and nothing else happens', async () => {
    const whole = modelBytes({ graphFields: [field(5, [field(8, 'w'), field(9, new Uint8Array(8))])] });
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.nat(whole.length - 1), fc.nat(255)), { minLength: 1, maxLength: 6 }),
        async (changes) => {
          const bytes = Uint8Array.from(whole);
          for (const [at, byte] of changes) bytes[at] = byte;
          const result = await read(bytes).catch((thrown: unknown) => thrown);
          if (result instanceof Error) expect(result).toBeInstanceOf(OnnxFileError);
        },
      ),
      { seed: 5, numRuns: damages },
    );
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), async (bytes) => {
        expect(await read(bytes).catch((thrown: unknown) => thrown)).toBeInstanceOf(OnnxFileError);
      }),
      { seed: 6, numRuns: damages },
    );
  });

  test('shrinking while it is read it is refused', async () => {
    const bytes = modelBytes();
    const shrinking: ByteSource = { ...byteSourceFromBytes(bytes), sizeBytes: bytes.length + 100_000 };
    await expect(readOnnxGraph(shrinking)).rejects.toThrow(/became shorter|is not the start/);
  });
});

test('metadata beyond its limit is left out', async () => {
  const entry = (key: string, bytes: number) => field(14, [field(1, key), field(2, 'v'.repeat(bytes))]);
  const { metadata } = await read(modelBytes({ modelFields: [entry('small', 10), entry('large', metadataBytesMax)] }));
  expect([...metadata.keys()]).toEqual(['small']);
});

test('fields across the end of the window are read like any other', async () => {
  const padding = (bytes: number) => field(10, 'p'.repeat(bytes));
  for (let shift = 0; shift < 24; shift += 1) {
    const { inputs } = await read(modelBytes({ graphFields: [padding(windowBytes - 70 + shift)] }));
    expect(inputs[0]?.shape).toEqual(['batch', 4]);
  }
});

test('weights are skipped: a model of many megabytes costs a few windows of reading', async () => {
  const weights = Array.from({ length: 16 }, (_, index) =>
    field(5, [field(8, `w${index}`), field(9, new Uint8Array(2 * 1024 * 1024))]),
  );
  const inner = byteSourceFromBytes(modelBytes({ graphFields: weights }));
  let bytesRead = 0;
  const counting: ByteSource = {
    sizeBytes: inner.sizeBytes,
    readAt(position, into) {
      bytesRead += into.length;
      return inner.readAt(position, into);
    },
  };
  const { inputs } = await readOnnxGraph(counting);
  expect(inputs).toHaveLength(1);
  expect(inner.sizeBytes).toBeGreaterThan(32 * 1024 * 1024);
  expect(bytesRead).toBeLessThan(40 * windowBytes);
});

describe('files', () => {
  let folder = '';
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'onnx-graph-'));
  });
  afterAll(() => rm(folder, { recursive: true }));

  test('a sparse file of 700 megabytes is read at once', async () => {
    const path = join(folder, 'large.onnx');
    const weightBytes = 700 * 1024 * 1024;
    const tail = Buffer.concat([field(11, tensorInfo('x', 1, ['n'])), field(12, tensorInfo('y', 1, ['n']))]);
    const weightHead = Buffer.concat([field(8, 'w'), varint((9 << 3) | 2), varint(weightBytes)]);
    const initializerHead = Buffer.concat([varint((5 << 3) | 2), varint(weightHead.length + weightBytes), weightHead]);
    const graphBytes = initializerHead.length + weightBytes + tail.length;
    const head = Buffer.concat([field(1, 8), varint((7 << 3) | 2), varint(graphBytes), initializerHead]);
    const file = await open(path, 'w');
    await file.write(head, 0, head.length, 0);
    await file.write(tail, 0, tail.length, head.length + weightBytes);
    await file.close();
    expect((await readOnnxFile(path)).inputs[0]?.name).toBe('x');
  });

  test('a folder is not a model', async () => {
    await expect(readOnnxFile(folder)).rejects.toThrow(/not a regular file|EISDIR/);
  });

  test('a file from disk is the same as from memory', async () => {
    const path = join(folder, 'small.onnx');
    await writeFile(path, modelBytes());
    expect(await readOnnxFile(path)).toEqual(await read(modelBytes()));
  });
});

describe('the test models', async () => {
  const models = fileURLToPath(new URL('../../../tests/models', import.meta.url));
  const folders = await readdir(models, { withFileTypes: true });
  const names = folders.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  const stateless = names.filter((name) => !name.startsWith('sequence_'));

  test('are all there', () => {
    expect(stateless).toHaveLength(18);
  });

  test.each(stateless)('%s is read', async (name) => {
    const graph = await readOnnxFile(join(models, name, '1', 'model.onnx'));
    expect(graph.irVersion).toBe(10);
    expect(graph.opsets).toEqual(new Map([['', 21]]));
    expect(graph.producerName).toBe('millrace');
    expect(graph.producerVersion).toBe('');
    expect(graph.graphName).toBe(name.replace(/^identity_.*/, 'identity'));
    for (const tensor of [...graph.inputs, ...graph.outputs]) {
      expect(tensor.kind).toBe('tensor');
      expect(tensor.shape?.[0]).toBe(name === 'slow' ? 1 : 'batch');
    }
  });
});

test('an operator that cannot run without elements is named, wherever it is', async () => {
  const node = (operator: string): Uint8Array => field(1, [field(1, 'x'), field(2, 'z'), field(4, operator)]);
  expect((await read(modelBytes({ graphFields: [node('Conv'), node('LSTM')] }))).emptyHazard).toBe('LSTM');
  // ONNX Runtime 1.30 divides by the number of rows.
  expect((await read(modelBytes({ graphFields: [node('Relu'), node('TopK')] }))).emptyHazard).toBe('TopK');
  expect((await read(modelBytes({ graphFields: [node('Conv')] }))).emptyHazard).toBe(undefined);
});

test('a pipe with the name of a model is refused and not waited for', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'onnx-pipe-'));
  const path = join(folder, 'model.onnx');
  try {
    execFileSync('mkfifo', [path]);
    await expect(readOnnxFile(path)).rejects.toThrow('it is not a regular file');
  } finally {
    await rm(folder, { recursive: true });
  }
});
