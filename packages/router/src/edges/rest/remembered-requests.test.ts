/** The cache of requests is invisible: an edge that has served many requests answers like a new one. */
import { gzipSync } from 'node:zlib';
import type { InjectedRequest } from '@millrace/http';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { InferAnswer } from '../../data-plane/infer.ts';
import { binarySize, catalogueOf, EchoDataPlane, echoEdge, input, viewOf } from './testing/echo-double.ts';

const labels = new Map([['x', ['no', 'yes']]]);
const flat = { name: 'x', datatype: 'FP32', shape: [-1] } as const;
const limits = { compressBytesMin: 220, zlibSyncBytesMax: 300 };

/** Answers with its inputs in other shapes, as their data says: what an answer is like is not known from its request. */
class ChangefulDataPlane extends EchoDataPlane {
  override async infer(...asked: Parameters<EchoDataPlane['infer']>): Promise<InferAnswer> {
    const answer = await super.infer(...asked);
    const outputs = answer.outputs.map((output) => {
      const first = output.data[0] ?? 0;
      const shape = first % 3 === 0 ? output.shape.toReversed() : output.shape;
      return { ...output, shape, datatype: first % 4 === 0 && output.datatype === 'FP32' ? 'INT32' : output.datatype };
    });
    return { ...answer, outputs };
  }
}

function edgeOf() {
  const dataPlane = new ChangefulDataPlane();
  const catalogue = catalogueOf(
    viewOf('m', { labels }),
    viewOf('m', { version: '7', labels: new Map([['x', ['nein', 'ja']]]) }),
    viewOf('n', { isBatched: false, inputs: [flat], outputs: [flat] }),
  );
  return { ...echoEdge({ dataPlane, catalogue, limits }), dataPlane };
}

const elementBytes = { FP32: 4, INT32: 4, UINT8: 1, FP16: 2, BYTES: 0 } as const;

/** Few of everything, so that much comes again, and much of it in as many bytes with another meaning. */
const askedInput = fc.record({
  name: fc.constantFrom('x', 'x', 'x', 'y'),
  datatype: fc.constantFrom('FP32', 'FP32', 'INT32', 'UINT8', 'FP16', 'BYTES'),
  shape: fc.constantFrom([1, 2], [2, 1], [2, 2], [1, 4], [4, 1], [0, 2], [4]),
  isInJson: fc.constantFrom(false, false, false, true),
});

const askedOutput = fc.record({
  name: fc.constantFrom('x', 'x', 'y', 'z'),
  parameters: fc.constantFrom(
    undefined,
    { binary_data: true },
    { binary_data: false },
    { classification: 2 },
    {
      binary_data: true,
      classification: 1,
    },
  ),
});

/** What the JSON of a request says. */
const form = fc.record({
  id: fc.constantFrom(undefined, undefined, '', 'a', 'b'),
  inputs: fc.uniqueArray(askedInput, { minLength: 0, maxLength: 2, selector: ({ name }) => name }),
  outputs: fc.option(fc.array(askedOutput, { maxLength: 2 }), { nil: undefined }),
  parameters: fc.constantFrom(
    { binary_data_output: true },
    { binary_data_output: true, own: 1 },
    { own: 2 },
    undefined,
  ),
});

/** What may differ from one request with the same JSON to the next. */
const turn = fc.record({
  form: fc.nat(),
  target: fc.constantFrom('/v2/models/m/infer', '/v2/models/m/versions/7/infer', '/v2/models/n/infer'),
  data: fc.uint8Array({ minLength: 32, maxLength: 32 }),
  missingBytes: fc.constantFrom(0, 0, 0, 0, 0, 0, 1, -1),
  accepted: fc.constantFrom(undefined, undefined, 'gzip', 'deflate'),
  isPacked: fc.constantFrom(false, false, false, true),
  isLengthTold: fc.constantFrom(true, true, true, true, false),
});

type Form = typeof form extends fc.Arbitrary<infer Value> ? Value : never;
type Turn = typeof turn extends fc.Arbitrary<infer Value> ? Value : never;

function dataFor({ datatype, shape }: Form['inputs'][number], bytes: Uint8Array): Uint8Array {
  const count = shape.reduce<number>((product, dimension) => product * dimension, 1);
  if (datatype !== 'BYTES') return bytes.subarray(0, count * elementBytes[datatype]);
  return Buffer.concat(Array.from({ length: count }, (_, at) => Uint8Array.of(1, 0, 0, 0, bytes[at] as number)));
}

function requestFrom({ id, inputs, outputs, parameters }: Form, turned: Turn): InjectedRequest {
  const tail: Uint8Array[] = [];
  const written = inputs.map((one) => {
    const { name, datatype, shape, isInJson } = one;
    const data = dataFor(one, turned.data);
    if (isInJson) return input(name, datatype, shape, { data: [...data.subarray(0, shape[0] * (shape[1] ?? 1))] });
    tail.push(data);
    return input(name, datatype, shape, binarySize(data.length));
  });
  const json = Buffer.from(JSON.stringify({ id, inputs: written, outputs, parameters }));
  const whole = Buffer.concat([json, ...tail, Buffer.alloc(1)]);
  const body = whole.subarray(0, whole.length - 1 - turned.missingBytes);
  const headers: [string, string][] = [];
  if (turned.isLengthTold) headers.push(['inference-header-content-length', String(json.length)]);
  if (turned.accepted !== undefined) headers.push(['accept-encoding', turned.accepted]);
  if (turned.isPacked) headers.push(['content-encoding', 'gzip']);
  return { method: 'POST', target: turned.target, headers, body: turned.isPacked ? gzipSync(body) : body };
}

async function told(edge: ReturnType<typeof edgeOf>, request: InjectedRequest): Promise<object> {
  const { status, headers, body } = await edge.call(request);
  return { status, headers: [...headers.entries()], body: Buffer.from(body).toString('latin1') };
}

test('an edge answers like one without a cache', async () => {
  const forms = fc.array(form, { minLength: 1, maxLength: 8 });
  const turns = fc.array(turn, { minLength: 30, maxLength: 60 });
  await fc.assert(
    fc.asyncProperty(forms, turns, async (asked, taken) => {
      const edge = edgeOf();
      const requests = taken.map((one) => requestFrom(asked[one.form % asked.length] as Form, one));
      const alone = await Promise.all(requests.map((request) => told(edgeOf(), request)));
      for (let at = 0; at < requests.length; at++) {
        expect(await told(edge, requests[at] as InjectedRequest)).toEqual(alone[at]);
      }
      // The second time a few at once, so that the answers of some are made while others are being read.
      for (let at = 0; at < requests.length; at += 4) {
        const answers = await Promise.all(requests.slice(at, at + 4).map((request) => told(edge, request)));
        expect(answers).toEqual(alone.slice(at, at + 4));
      }
      expect(edge.dataPlane.releases).toBe(edge.dataPlane.answers);
      expect(edge.errors).toEqual([]);
    }),
    { seed: 33, numRuns: process.env.TEST_LONG === '1' ? 25 : 6, endOnFailure: true },
  );
}, 180_000);
