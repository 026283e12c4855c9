import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { MemoryHost } from '../wire/testing/memory-host.ts';
import { MemoryTransport } from '../wire/testing/memory-transport.ts';
import { Http1Connection } from './connection.ts';

interface Case {
  readonly name: string;
  readonly bytes: Buffer;
  readonly expected: string;
}

const escapes: Readonly<Record<string, string>> = { r: '\r', n: '\n', t: '\t', 0: '\0', '\\': '\\' };

function unescaped(text: string): string {
  return text
    .replace(/\\(?:x([0-9a-f]{2})|(.))/g, (_, hex: string | undefined, letter: string) =>
      hex === undefined ? (escapes[letter] as string) : String.fromCharCode(Number.parseInt(hex, 16)),
    )
    .replace(/\{(\d+)\*([^}]*)\}/g, (_, count: string, part: string) => part.repeat(Number(count)));
}

function casesFrom(text: string): Case[] {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  const cases: Case[] = [];
  for (let at = 0; at < lines.length; at += 3) {
    const [name, bytes, expected] = lines.slice(at, at + 3).map((line) => line.slice(2)) as [string, string, string];
    cases.push({ name, bytes: Buffer.from(unescaped(bytes), 'latin1'), expected });
  }
  return cases;
}

/** Feeds the bytes cut into pieces of a size and tells what came back. */
function outcomeOf(bytes: Buffer, pieceBytes: number): string {
  const host = new MemoryHost((exchange) => {
    exchange.listener = {
      onData: () => {},
      onEnd: () => exchange.answer(200, [], Buffer.from('ok'), undefined, undefined),
      onAbort: () => exchange.end(),
      onDrain: () => {},
      onRefused: () => {},
    };
    exchange.resume();
  });
  const transport = new MemoryTransport();
  const connection = new Http1Connection(host, transport);
  for (let at = 0; at < bytes.length; at += pieceBytes) connection.receive(bytes.subarray(at, at + pieceBytes));
  host.settle();
  const statuses = [
    ...transport
      .take()
      .toString('latin1')
      .matchAll(/HTTP\/1\.1 (\d{3})/g),
  ].map((match) => match[1]);
  return [...statuses, transport.isEnded ? 'closed' : 'open'].join(' ');
}

const cases = casesFrom(readFileSync(new URL('malformed-requests.txt', import.meta.url), 'utf8'));

describe('malformed requests', () => {
  test('there are more than a hundred of them, each with its own name', () => {
    expect(cases.length).toBeGreaterThan(100);
    expect(new Set(cases.map((one) => one.name)).size).toBe(cases.length);
  });

  for (const { name, bytes, expected } of cases) {
    test(`${name}: ${expected}`, () => {
      expect(outcomeOf(bytes, bytes.length)).toBe(expected);
      expect(outcomeOf(bytes, 7)).toBe(expected);
      if (bytes.length < 1000) expect(outcomeOf(bytes, 1)).toBe(expected);
    });
  }
});
