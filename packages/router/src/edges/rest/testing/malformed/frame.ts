/** What goes wrong around the body: codings, paths, methods. */
import { deflateSync, gzipSync } from 'node:zlib';
import type { InjectedRequest } from '@millrace/http';
import { good, type MalformedCase, postBody, target, withOutput, zeros } from './case.ts';

const coded = (body: Uint8Array, encoding: string): InjectedRequest => postBody(body, [['content-encoding', encoding]]);
const goodBody = Buffer.from(`{"inputs":[${good}]}`);

export const frameCases: readonly MalformedCase[] = [
  [
    'a coding in two lines',
    postBody(gzipSync(gzipSync(goodBody)), [
      ['content-encoding', 'gzip'],
      ['content-encoding', 'gzip'],
    ]),
    415,
    "unsupported Content-Encoding 'gzip, gzip'",
  ],
  [
    'two timeout fields',
    postBody(goodBody, [
      ['millrace-timeout-ms', '1'],
      ['millrace-timeout-ms', '2'],
    ]),
    400,
    'millrace-timeout-ms',
  ],
  ['brotli', coded(goodBody, 'br'), 415, "unsupported Content-Encoding 'br'"],
  ['two codings', coded(gzipSync(deflateSync(goodBody)), 'deflate, gzip'), 415, 'gzip, deflate or identity'],
  ['gzip that is not', coded(goodBody, 'gzip'), 400, 'not valid gzip data'],
  ['deflate that is not', coded(goodBody, 'deflate'), 400, 'not valid deflate data'],
  ['gzip cut short', coded(gzipSync(goodBody).subarray(0, 30), 'gzip'), 400, 'not valid gzip data'],
  ['an empty gzip body', coded(zeros(0), 'gzip'), 400, 'not valid gzip data'],
  ['a small bomb', coded(gzipSync(zeros(2_000_000)), 'gzip'), 413, 'larger than 20000 bytes when decompressed'],
  [
    'a deflate bomb',
    coded(deflateSync(zeros(20_000_000)), 'deflate'),
    413,
    'larger than 20000 bytes when decompressed',
  ],
  [
    'JSON over its limit once unpacked',
    coded(gzipSync(Buffer.from(`{"a":"${'a'.repeat(25_000)}","inputs":[]}`)), 'gzip'),
    413,
    'larger than 20000 bytes when decompressed',
  ],
  [
    'a bomb behind JSON',
    {
      ...coded(gzipSync(zeros(2_000_000)), 'gzip'),
      headers: [
        ['content-encoding', 'gzip'],
        ['inference-header-content-length', '10'],
      ],
    },
    413,
    'larger than 30000 bytes when decompressed',
  ],
  [
    'a raw request for an unknown model',
    { ...postBody(zeros(8), [['inference-header-content-length', '0']]), target: '/v2/models/no/infer' },
    404,
    "unknown model: 'no'",
  ],
  [
    'a raw request of the wrong size',
    postBody(zeros(7), [['inference-header-content-length', '0']]),
    400,
    'takes 8 bytes, but the body has 7',
  ],
  [
    'a classification of an unknown model',
    { ...withOutput('{"classification":1}'), target: '/v2/models/no/infer' },
    404,
    "unknown model: 'no'",
  ],
  ['GET', { target }, 405, 'Method Not Allowed'],
  [
    'a version that is not a number',
    { ...postBody(goodBody), target: '/v2/models/m/versions/one/infer' },
    404,
    'Not Found',
  ],
  ['a version that is negative', { ...postBody(goodBody), target: '/v2/models/m/versions/-1/infer' }, 404, 'Not Found'],
  ['no model', { ...postBody(goodBody), target: '/v2/models//infer' }, 404, 'Not Found'],
  ['a model that cannot be decoded', { ...postBody(goodBody), target: '/v2/models/%ff/infer' }, 400, 'percent-encoded'],
  ['a longer path', { ...postBody(goodBody), target: '/v2/models/m/infer/more' }, 404, 'Not Found'],
];
