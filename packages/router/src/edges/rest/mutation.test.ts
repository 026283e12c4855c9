import { encodeBytesElements } from '@millrace/protocol';
import { describe, expect, test } from 'vitest';
import { binaryRequest, echoEdge, typedBytes } from './testing/echo-double.ts';

const valid = binaryRequest(
  {
    id: 'q',
    parameters: { timeout: 1_000_000, binary_data_output: true },
    inputs: [
      { name: 'a', shape: [2, 2], datatype: 'FP32', parameters: { binary_data_size: 16 } },
      { name: 'b', shape: [1, 3], datatype: 'INT64', data: [[1, -2, 9_007_199_254_740_991]] },
      { name: 'c', shape: [2], datatype: 'BYTES', parameters: { binary_data_size: 11 } },
      { name: 'd', shape: [2], datatype: 'BOOL', data: [true, false] },
    ],
    outputs: [
      { name: 'c' },
      { name: 'a', parameters: { binary_data: true } },
      { name: 'b', parameters: { classification: 2 } },
    ],
  },
  typedBytes(new Float32Array([1, 2, 3, 4])),
  encodeBytesElements(['abc', '']),
);
const jsonBytes = Number(valid.headers?.find(([name]) => name === 'inference-header-content-length')?.[1]);

/** xorshift32: the same bytes in every run. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

test('the request that is mutated below is valid unchanged', async () => {
  const reply = await echoEdge().call(valid);
  expect(reply.status).toBe(200);
  expect(reply.text()).toContain('"data":["abc",""]');
});

describe('a request cut at any byte', () => {
  test('is refused with a correct header length and does not reach the data plane', async () => {
    const { call, dataPlane, errors } = echoEdge();
    for (let length = 0; length < valid.body.byteLength; length++) {
      const reply = await call({ ...valid, body: valid.body.subarray(0, length) });
      expect([length, reply.status]).toEqual([length, 400]);
    }
    expect([dataPlane.requests, errors]).toEqual([[], []]);
  });

  test('is refused when the header length is cut with it', async () => {
    const { call, dataPlane, errors } = echoEdge();
    for (let length = 1; length < valid.body.byteLength; length++) {
      const headers = [['inference-header-content-length', String(Math.min(length, jsonBytes))]] as const;
      const reply = await call({ ...valid, headers, body: valid.body.subarray(0, length) });
      expect([length, reply.status]).toEqual([length, 400]);
    }
    expect([dataPlane.requests, errors]).toEqual([[], []]);
  });

  test('is refused when the header length alone is wrong', async () => {
    const { call, dataPlane, errors } = echoEdge();
    for (let length = 0; length <= valid.body.byteLength + 2; length++) {
      if (length === jsonBytes) continue;
      const reply = await call({ ...valid, headers: [['inference-header-content-length', String(length)]] });
      expect([length, reply.status]).toEqual([length, 400]);
    }
    expect([dataPlane.requests, errors]).toEqual([[], []]);
  });
});

describe('a request mutated at random', () => {
  const tokens = [
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"',
    '-',
    '1e9',
    'null',
    'NaN',
    '\\u',
    '0',
    '99999999999999999999',
    ' ',
  ];

  function bend(random: (below: number) => number): Uint8Array {
    let body = Buffer.from(valid.body);
    for (let times = random(4); times >= 0; times--) {
      const at = random(body.byteLength + 1);
      switch (random(5)) {
        case 0:
          body[Math.min(at, body.byteLength - 1)] = random(256);
          break;
        case 1: {
          const to = Math.min(body.byteLength, at + random(12));
          body = Buffer.concat([body.subarray(0, at), body.subarray(to)]);
          break;
        }
        case 2:
          body = Buffer.concat([
            body.subarray(0, at),
            Buffer.from(tokens[random(tokens.length)] ?? ''),
            body.subarray(at),
          ]);
          break;
        case 3: {
          const from = random(body.byteLength);
          const piece = body.subarray(from, Math.min(body.byteLength, from + random(40)));
          body = Buffer.concat([body.subarray(0, at), piece, body.subarray(at)]);
          break;
        }
        default:
          body = body.subarray(0, Math.max(1, at));
      }
      if (body.byteLength === 0) return body;
    }
    return body;
  }

  const runs = process.env.TEST_LONG === '1' ? 20_000 : 3000;

  test('is answered or refused, never a failure, and every answer is released', async () => {
    const { call, dataPlane, errors } = echoEdge();
    const random = randomFrom(0x5eed);
    const statuses = new Map<number, number>();
    let answered = 0;
    for (let run = 0; run < runs; run++) {
      const body = bend(random);
      const shift = body.byteLength - valid.body.byteLength;
      // Half keep the header length, half move it with the body, so that bent JSON still meets a whole tail.
      const header = random(2) === 0 ? jsonBytes : Math.max(1, jsonBytes + shift);
      const headers = [['inference-header-content-length', String(header)]] as const;
      const { status } = await call({ ...valid, headers, body });
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
      if (status < 300) answered += 1;
      if (status >= 500 || status < 200) expect([run, status, body.toString()]).toEqual([run, 400, '']);
    }
    expect(errors).toEqual([]);
    expect(dataPlane.releases).toBe(dataPlane.answers);
    expect(answered).toBeGreaterThan(runs / 200);
    expect(statuses.get(400)).toBeGreaterThan(runs / 2);
  }, 60_000);
});
