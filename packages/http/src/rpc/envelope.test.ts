import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { MemoryLease } from '../wire/memory.ts';
import { ScriptedMemory } from '../wire/testing/scripted-memory.ts';
import { EnvelopeReader, envelopePrefix, type MessageSink } from './envelope.ts';
import type { RpcError } from './rpc-error.ts';
import { envelopedText } from './testing/exchange-double.ts';

class Sink implements MessageSink {
  readonly messages: string[] = [];
  readonly flags: boolean[] = [];
  ends = 0;
  error: RpcError | undefined = undefined;
  hold: (() => void) | undefined = undefined;

  onMessage(message: Uint8Array, isCompressed: boolean): void {
    this.messages.push(Buffer.from(message).toString('latin1'));
    this.flags.push(isCompressed);
    this.hold?.();
  }
  onMessagesEnd(): void {
    this.ends += 1;
  }
  onBadMessage(error: RpcError): void {
    this.error = error;
  }
}

function lease(): MemoryLease {
  return new ScriptedMemory(Number.POSITIVE_INFINITY).lease({ onMemory: () => {} });
}

function cut(bytes: Uint8Array, at: readonly number[]): Uint8Array[] {
  const cuts = [...new Set([0, ...at.map((one) => one % (bytes.length + 1)), bytes.length])].sort((a, b) => a - b);
  return cuts.slice(1).map((end, index) => bytes.subarray(cuts[index], end));
}

const texts = fc.array(fc.string({ unit: 'binary-ascii', maxLength: 40 }), { maxLength: 6 });

test('messages are decoded whole and in order, however the body was split', () => {
  fc.assert(
    fc.property(texts, fc.array(fc.nat(300)), (sent, cuts) => {
      const sink = new Sink();
      const reader = new EnvelopeReader(sink, 1000, lease());
      const body = Buffer.concat(sent.map((word, index) => envelopedText(Buffer.from(word, 'latin1'), index % 2)));
      for (const piece of cut(body, cuts)) reader.push(piece);
      reader.end();
      expect(sink.messages).toEqual(sent);
      expect(sink.flags).toEqual(sent.map((_, index) => index % 2 === 1));
      expect(sink.ends).toBe(1);
    }),
    { seed: 1, numRuns: 300 },
  );
});

test('a byte at a time is enough', () => {
  const sink = new Sink();
  const reader = new EnvelopeReader(sink, 10, lease());
  for (const byte of Buffer.concat([envelopedText('ab'), envelopedText(''), envelopedText('c')]))
    reader.push(Uint8Array.of(byte));
  reader.end();
  expect(sink.messages).toEqual(['ab', '', 'c']);
});

test('a message above the limit is refused by its prefix, before any of it is kept', () => {
  const sink = new Sink();
  const reader = new EnvelopeReader(sink, 10, lease());
  reader.push(envelopePrefix(0, 11));
  expect(sink.error).toMatchObject({ code: 'resource_exhausted' });
  reader.push(Buffer.alloc(11));
  reader.end();
  expect(sink.messages).toEqual([]);
  expect(sink.ends).toBe(0);
});

test('a message at the limit passes, also one that arrives in many pieces and above the first grant of memory', () => {
  const sink = new Sink();
  const bytes = 3 * 1024 * 1024 + 7;
  const reader = new EnvelopeReader(sink, bytes, lease());
  const body = envelopedText(Buffer.alloc(bytes, 'xyz'));
  for (let at = 0; at < body.length; at += 65_000) reader.push(body.subarray(at, at + 65_000));
  reader.end();
  expect(sink.messages[0] === body.subarray(5).toString('latin1')).toBe(true);
});

test.each([
  [Uint8Array.of(0, 0, 0), 'within a message, after its length'],
  [envelopedText('abc').subarray(0, 7), 'after 2 of its 3 bytes'],
])('a body that ends within a message is refused', (body, text) => {
  const sink = new Sink();
  const reader = new EnvelopeReader(sink, 10, lease());
  reader.push(body);
  reader.end();
  expect(sink.error?.code).toBe('invalid_argument');
  expect(sink.error?.message).toContain(text);
  expect(sink.ends).toBe(0);
});

test.each([2, 128, 255])('the flags %i are no request’s', (flags) => {
  const sink = new Sink();
  new EnvelopeReader(sink, 10, lease()).push(envelopedText('x', flags));
  expect(sink.error?.code).toBe('invalid_argument');
});

test('messages after a held one wait for its release, and so does the end', () => {
  const sink = new Sink();
  const reader = new EnvelopeReader(sink, 10, lease());
  sink.hold = () => reader.hold();
  reader.push(Buffer.concat([envelopedText('a'), envelopedText('b')]));
  reader.push(envelopedText('c'));
  reader.end();
  expect(sink.messages).toEqual(['a']);
  reader.release();
  expect(sink.messages).toEqual(['a', 'b']);
  reader.release();
  expect([sink.messages, sink.ends]).toEqual([['a', 'b', 'c'], 0]);
  reader.release();
  expect(sink.ends).toBe(1);
});

test('a view handed out stays intact when later pieces arrive', () => {
  const kept: Uint8Array[] = [];
  const sink = new Sink();
  sink.onMessage = (message) => kept.push(message);
  const reader = new EnvelopeReader(sink, 100, lease());
  for (const word of ['first', 'second', 'third']) {
    const body = envelopedText(word);
    reader.push(body.subarray(0, 7));
    reader.push(body.subarray(7));
  }
  expect(kept.map((one) => Buffer.from(one).toString())).toEqual(['first', 'second', 'third']);
});

test('a reader says whether the rest of a message is awaited', () => {
  const reader = new EnvelopeReader(new Sink(), 100, lease());
  const body = envelopedText('0123456789');
  const seen: boolean[] = [reader.isMidMessage];
  for (const piece of [body.subarray(0, 3), body.subarray(3, 8), body.subarray(8)]) {
    reader.push(piece);
    seen.push(reader.isMidMessage);
  }
  expect(seen).toEqual([false, true, true, false]);
});
