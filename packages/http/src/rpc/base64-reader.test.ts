import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Base64Reader } from './base64-reader.ts';
import type { MessageReader } from './envelope.ts';
import type { RpcError } from './rpc-error.ts';

class Collector implements MessageReader {
  readonly pieces: Uint8Array[] = [];
  isEnded: boolean = false;
  readonly isMidMessage: boolean = false;
  push(piece: Uint8Array): void {
    this.pieces.push(piece);
  }
  end(): void {
    this.isEnded = true;
  }
  hold(): void {}
  release(): void {}
  close(): void {}
}

function decode(body: Uint8Array, step: number): { bytes: Buffer; isEnded: boolean; error: RpcError | undefined } {
  const collector = new Collector();
  let error: RpcError | undefined;
  const reader = new Base64Reader(collector, (one) => {
    error = one;
  });
  for (let at = 0; at < body.length; at += step) reader.push(body.subarray(at, at + step));
  reader.end();
  return { bytes: Buffer.concat(collector.pieces), isEnded: collector.isEnded, error };
}

test('chunks that were each padded read as one body, however they were cut', () => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 20 })), fc.integer({ min: 1, max: 50 }), (chunks, step) => {
      const body = Buffer.from(chunks.map((chunk) => Buffer.from(chunk).toString('base64')).join(''));
      const { bytes, isEnded, error } = decode(body, step);
      expect(error).toBeUndefined();
      expect(isEnded).toBe(true);
      expect(bytes).toEqual(Buffer.concat(chunks));
    }),
    { seed: 2, numRuns: 300 },
  );
});

test.each(['QUI', 'QU!=', '====', 'QQ=Q', 'Q===', 'AAAA\nAAAA'])('%j is no base64', (body) => {
  const { isEnded, error } = decode(Buffer.from(body), 100);
  expect(error?.code).toBe('invalid_argument');
  expect(isEnded).toBe(false);
});
