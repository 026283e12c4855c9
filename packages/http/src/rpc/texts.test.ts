/** The small grammars of the protocols: times, statuses, metadata. */
import { ConfigError } from '@millrace/protocol';
import { expect, test } from 'vitest';
import { FieldList } from '../wire/field-list.ts';
import { resolveRpcLimits, rpcLimits } from './config.ts';
import { connectEndFrom } from './connect-error.ts';
import { encodeStatus, grpcStatusFields, percentEncode } from './grpc-status.ts';
import { MetadataWriter, RequestMetadata } from './metadata.ts';
import { RpcError } from './rpc-error.ts';
import { rpcCodeFrom, statusCodes } from './status.ts';
import { connectTimeoutMs, grpcTimeoutMs } from './timeout.ts';

test.each([
  ['1H', 3_600_000],
  ['2M', 120_000],
  ['3S', 3000],
  ['99999999m', 99_999_999],
  ['1500u', 1.5],
  ['2000000n', 2],
  ['0m', 0],
])('grpc-timeout %s is %d ms', (value, ms) => {
  expect(grpcTimeoutMs(value)).toBeCloseTo(ms, 9);
});

test.each(['', '1', 'm', '-1m', '1.5S', '123456789m', '1 m', '1h'])('grpc-timeout %j cannot be read', (value) => {
  expect(grpcTimeoutMs(value)).toBeNaN();
});

test('connect-timeout-ms is up to ten digits', () => {
  expect([connectTimeoutMs('0'), connectTimeoutMs('1234567890'), connectTimeoutMs(undefined)]).toEqual([
    0,
    1_234_567_890,
    undefined,
  ]);
  for (const bad of ['', '-1', '1.5', '12345678901', '1s']) expect(connectTimeoutMs(bad)).toBeNaN();
});

test('messages of errors travel as ASCII', () => {
  expect(percentEncode('plain text ~')).toBe('plain text ~');
  expect(percentEncode('100% grüße\n')).toBe('100%25 gr%C3%BC%C3%9Fe%0A');
  expect(percentEncode('\u{1f600}')).toBe('%F0%9F%98%80');
  expect([percentEncode(' a b '), percentEncode(' '), percentEncode('')]).toEqual(['%20a b%20', '%20', '']);
});

test('an error with details carries a google.rpc.Status', () => {
  const error = new RpcError('not_found', 'gone', [{ type: 'a.B', value: Uint8Array.of(8, 1) }]);
  const any = Buffer.concat([
    Buffer.from([0x0a, 23]),
    Buffer.from('type.googleapis.com/a.B'),
    Buffer.from([0x12, 2, 8, 1]),
  ]);
  expect(Buffer.from(encodeStatus(error))).toEqual(
    Buffer.concat([Buffer.from([0x08, 5, 0x12, 4]), Buffer.from('gone'), Buffer.from([0x1a, any.length]), any]),
  );
  expect(grpcStatusFields(error, [['x', 'y']])).toEqual([
    ['grpc-status', '5'],
    ['grpc-message', 'gone'],
    ['grpc-status-details-bin', Buffer.from(encodeStatus(error)).toString('base64').replaceAll('=', '')],
    ['x', 'y'],
  ]);
});

test('a length above 127 in a status takes two bytes', () => {
  const bytes = encodeStatus(new RpcError('unknown', 'x'.repeat(300)));
  expect([...bytes.subarray(0, 5)]).toEqual([0x08, 2, 0x12, 0xac, 0x02]);
  expect(bytes).toHaveLength(5 + 300);
});

test('the end of a Connect stream names error and metadata, repeated values in order', () => {
  const bytes = connectEndFrom(new RpcError('aborted', 'no'), [
    ['a', '1'],
    ['__proto__', 'x'],
    ['a', '2'],
  ]);
  expect(JSON.parse(Buffer.from(bytes).toString())).toEqual(
    JSON.parse('{"error":{"code":"aborted","message":"no"},"metadata":{"a":["1","2"],"__proto__":["x"]}}'),
  );
});

test('every code has its number, and unknown numbers are unknown', () => {
  for (const [code, { grpc }] of Object.entries(statusCodes)) expect(rpcCodeFrom(grpc)).toBe(code);
  expect(new Set(Object.values(statusCodes).map(({ grpc }) => grpc)).size).toBe(16);
  expect(rpcCodeFrom(99)).toBe('unknown');
});

test('binary metadata is read with and without padding, joined or repeated', () => {
  const fields = ['AQI=,AwQ', 'BQ'].map((value) => ({ name: 'x-bin', value, kind: 0 as const, isValid: true }));
  const metadata = new RequestMetadata(new FieldList(fields));
  expect(metadata.getBinary('x-bin').map((bytes) => [...bytes])).toEqual([[1, 2], [3, 4], [5]]);
  expect(metadata.getAll('x-bin')).toEqual(['AQI=,AwQ', 'BQ']);
  expect([metadata.get('x-bin'), metadata.get('y')]).toEqual(['AQI=,AwQ', undefined]);
});

test('metadata to be sent is lower-case, binary values without padding', () => {
  const writer = new MetadataWriter();
  writer.add('X-Word', ' some words ');
  writer.add('x-bytes-bin', Uint8Array.of(1));
  writer.add('x-bytes-bin', 'AQ');
  expect(writer.fields).toEqual([
    ['x-word', 'some words'],
    ['x-bytes-bin', 'AQ'],
    ['x-bytes-bin', 'AQ'],
  ]);
});

test.each([
  ['a b', 'x'],
  ['', 'x'],
  ['x-y', 'zwölf'],
  ['x-y', 'a\r\nb'],
  ['x-y', Uint8Array.of(1)],
  ['grpc-status', '0'],
  ['content-type', 'x'],
  ['connect-timeout-ms', '1'],
])('metadata %j: %j cannot be sent', (name, value) => {
  expect(() => new MetadataWriter().add(name, value)).toThrow(TypeError);
});

test('limits have defaults and ranges, and every problem is named at once', () => {
  expect(resolveRpcLimits({}).receiveBytesMax).toBe(64 * 1024 * 1024);
  for (const [name, { min, max }] of Object.entries(rpcLimits)) {
    expect(resolveRpcLimits({ [name]: min })).toMatchObject({ [name]: min });
    expect(resolveRpcLimits({ [name]: max })).toMatchObject({ [name]: max });
  }
  const bad = { receiveBytesMax: 0, compressionLevel: 10, sendBytesMax: 1.5 };
  expect(() => resolveRpcLimits(bad)).toThrow(ConfigError);
  try {
    resolveRpcLimits(bad);
  } catch (error) {
    const fields = (error as ConfigError).problems.map(({ field }) => field);
    expect(fields).toEqual(['receiveBytesMax', 'sendBytesMax', 'compressionLevel']);
  }
});
