import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type HeaderField, isTransportField } from '../header-field.ts';
import { bombFactor, HpackDecoder } from './decoder.ts';
import { HpackEncoder } from './encoder.ts';
import { codeLengths } from './huffman-code.ts';
import { decodeHuffman } from './huffman-decoder.ts';
import { encodeHuffman, huffmanBytes } from './huffman-encoder.ts';
import { staticNames } from './static-table.ts';

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex');

function decode(decoder: HpackDecoder, block: Buffer, listBytesMax = 65536): [string, [string, string][]] {
  const fields: HeaderField[] = [];
  const result = decoder.decode(block, 0, block.length, fields, listBytesMax);
  return [result, fields.map((field) => [field.name, field.value])];
}

function encode(encoder: HpackEncoder, fields: [string, string][]): Buffer {
  const into = Buffer.alloc(HpackEncoder.bytesMax(fields));
  let at = encoder.begin(into, 0);
  for (const [name, value] of fields) at = encoder.encode(name, value, into, at);
  return into.subarray(0, at);
}

test('the Huffman code is complete: its lengths fill the tree exactly', () => {
  expect(codeLengths).toHaveLength(257);
  expect(codeLengths.reduce((sum, bits) => sum + 2 ** -bits, 0)).toBe(1);
});

test('every string is unchanged by Huffman encoding and decoding', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      const text = Buffer.from(bytes).toString('latin1');
      const coded = new Uint8Array(huffmanBytes(text));
      expect(encodeHuffman(text, coded, 0)).toBe(coded.length);
      const decoded = new Uint8Array(coded.length * 2 + 1);
      expect(decodeHuffman(coded, 0, coded.length, decoded)).toBe(bytes.length);
      expect(decoded.subarray(0, bytes.length)).toEqual(bytes);
    }),
    { seed: 7541, numRuns: 500 },
  );
});

describe('examples of RFC 7541, appendix C', () => {
  const requests: [string, string][][] = [
    [
      [':method', 'GET'],
      [':scheme', 'http'],
      [':path', '/'],
      [':authority', 'www.example.com'],
    ],
    [
      [':method', 'GET'],
      [':scheme', 'http'],
      [':path', '/'],
      [':authority', 'www.example.com'],
      ['cache-control', 'no-cache'],
    ],
    [
      [':method', 'GET'],
      [':scheme', 'https'],
      [':path', '/index.html'],
      [':authority', 'www.example.com'],
      ['custom-key', 'custom-value'],
    ],
  ];

  test('requests without Huffman coding (C.3) decode, table sizes included', () => {
    const decoder = new HpackDecoder();
    const blocks = [
      '8286 8441 0f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
      '8286 84be 5808 6e6f 2d63 6163 6865',
      '8287 85bf 400a 6375 7374 6f6d 2d6b 6579 0c63 7573 746f 6d2d 7661 6c75 65',
    ];
    expect(decode(decoder, hex(blocks[0] as string))).toEqual(['ok', requests[0]]);
    expect(decoder.tableBytes).toBe(57);
    expect(decode(decoder, hex(blocks[1] as string))).toEqual(['ok', requests[1]]);
    expect(decoder.tableBytes).toBe(110);
    expect(decode(decoder, hex(blocks[2] as string))).toEqual(['ok', requests[2]]);
    expect(decoder.tableBytes).toBe(164);
  });

  test('requests with Huffman coding (C.4) decode', () => {
    const decoder = new HpackDecoder();
    const blocks = [
      '8286 8441 8cf1 e3c2 e5f2 3a6b a0ab 90f4 ff',
      '8286 84be 5886 a8eb 1064 9cbf',
      '8287 85bf 4088 25a8 49e9 5ba9 7d7f 8925 a849 e95b b8e8 b4bf',
    ];
    for (const [at, block] of blocks.entries()) expect(decode(decoder, hex(block))).toEqual(['ok', requests[at]]);
  });

  test('responses in a table of 256 bytes evict as the example says (C.5)', () => {
    const decoder = new HpackDecoder();
    const resize = hex('3fe1 01');
    const first = hex(
      '4803 3330 3258 0770 7269 7661 7465 611d 4d6f 6e2c 2032 3120 4f63 7420 3230 3133 2032 303a 3133 3a32 3120 474d 546e 1768 7474 7073 3a2f 2f77 7777 2e65 7861 6d70 6c65 2e63 6f6d',
    );
    expect(decode(decoder, Buffer.concat([resize, first]))[1]).toContainEqual(['location', 'https://www.example.com']);
    expect(decoder.tableBytes).toBe(222);
    expect(decode(decoder, hex('4803 3330 37c1 c0bf'))[1]).toEqual([
      [':status', '307'],
      ['cache-control', 'private'],
      ['date', 'Mon, 21 Oct 2013 20:13:21 GMT'],
      ['location', 'https://www.example.com'],
    ]);
    expect(decoder.tableBytes).toBe(222);
  });
});

describe('a broken block is a compression error', () => {
  const cases: [string, string][] = [
    ['index 0', '80'],
    ['an index past both tables', 'be'],
    ['a literal whose name index is past both tables', '7f ff 01 00'],
    ['an integer that does not end', '7f ff ff ff ff ff ff'],
    ['a string longer than the block', '00 05 61'],
    ['a missing value', '00 01 61'],
    ['padding of more than seven bits', '00 83 1c 7f ff 01 61'],
    ['padding that is not the beginning of end-of-string', '00 81 18 01 61'],
    ['end-of-string inside a string', '00 84 ff ff ff ff 01 61'],
    ['a table size above the one announced', '3f e2 1f'],
    ['a table size after a field', '82 20'],
  ];
  for (const [name, block] of cases) {
    test(name, () => {
      expect(decode(new HpackDecoder(), hex(block))[0]).toBe('compression-error');
    });
  }
});

test('a list over its limit is counted, not kept, and keeps the table in sync', () => {
  const decoder = new HpackDecoder();
  const value = 'v'.repeat(100);
  const block = Buffer.concat([hex('4001 61 64'), Buffer.from(value), Buffer.alloc(1000, 0xbe)]);
  const [result, fields] = decode(decoder, block, 10_000);
  expect(result).toBe('list-too-large');
  expect(fields).toHaveLength(75);
  expect(decoder.listBytes).toBe(1001 * 133);
  expect(decode(decoder, hex('be'))).toEqual(['ok', [['a', value]]]);
});

test('decoding stops when a list is bombFactor times over its limit', () => {
  const decoder = new HpackDecoder();
  const value = Buffer.from('v'.repeat(100));
  const references = (count: number) => Buffer.concat([hex('4001 61 64'), value, Buffer.alloc(count, 0xbe)]);
  const listBytesMax = 133;
  expect(decode(decoder, references(bombFactor - 1), listBytesMax)[0]).toBe('list-too-large');
  expect(decode(decoder, references(bombFactor), listBytesMax)).toEqual(['bomb', [['a', value.toString()]]]);
  expect(decode(decoder, references(100_000), listBytesMax)[0]).toBe('bomb');
  expect(decoder.listBytes).toBe((bombFactor + 1) * 133);
});

test('names and values outside the grammar are marked, also when they come back by index', () => {
  const decoder = new HpackDecoder();
  const validity = (block: Buffer): boolean[] => {
    const fields: HeaderField[] = [];
    decoder.decode(block, 0, block.length, fields, 65536);
    return fields.map((field) => field.isValid);
  };
  expect(validity(hex('40 01 41 01 61'))).toEqual([false]);
  expect(validity(hex('be'))).toEqual([false]);
  expect(validity(hex('7e 01 62'))).toEqual([false]);
  expect(validity(hex('40 01 61 02 0d 0a'))).toEqual([false]);
  expect(validity(hex('7e 01 62'))).toEqual([true]);
  expect(validity(hex('00 01 61 02 20 62'))).toEqual([false]);
  expect(validity(hex('88'))).toEqual([false]);
});

test('what the encoder writes, a decoder reads back, whatever the table limits in between', () => {
  const names = [...staticNames.keys()].filter((name) => !name.startsWith(':') && !isTransportField(name));
  const field = fc.tuple(
    fc.oneof(fc.constantFrom(...names), fc.stringMatching(/^[a-z0-9-]{1,12}$/)),
    fc.oneof(fc.constantFrom('0', 'application/grpc', 'v'.repeat(300)), fc.stringMatching(/^[!-~]{0,40}$/)),
  );
  const step = fc.oneof(fc.record({ limit: fc.constantFrom(0, 64, 100, 4096, 65536) }), fc.array(field));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
      const encoder = new HpackEncoder();
      const decoder = new HpackDecoder();
      for (const one of steps) {
        if (!Array.isArray(one)) encoder.limitTable(one.limit);
        else expect(decode(decoder, encode(encoder, one))).toEqual(['ok', one]);
      }
    }),
    { seed: 7541, numRuns: 300 },
  );
});

test('a field that repeats costs one byte, and a lowered table limit is announced once', () => {
  const encoder = new HpackEncoder();
  const fields: [string, string][] = [['content-type', 'application/grpc']];
  expect(encode(encoder, fields).length).toBeGreaterThan(10);
  expect(encode(encoder, fields)).toHaveLength(1);
  encoder.limitTable(0);
  encoder.limitTable(4096);
  expect(encode(encoder, fields).subarray(0, 4)).toEqual(hex('20 3f e1 1f'));
  expect(encode(encoder, fields)).toHaveLength(1);
});

test('a field that would break the framing is refused', () => {
  const encoder = new HpackEncoder();
  expect(() => encode(encoder, [['x-a', 'b\r\nx-c: d']])).toThrow(/control character/);
  expect(() => encode(encoder, [['X-A', 'b']])).toThrow(/lower-case/);
});
