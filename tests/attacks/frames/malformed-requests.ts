import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from '../../support/repository-root.ts';
import type { Attack } from '../attack.ts';
import { Http1Answers } from '../raw/http1.ts';
import type { Target } from '../target.ts';

interface Case {
  readonly what: string;
  readonly bytes: Buffer;
  readonly isClosed: boolean;
}

/** The cases of the wire layer's own test, in its notation. */
function cases(): readonly Case[] {
  const file = join(repositoryRoot, 'packages/http/src/http1/malformed-requests.txt');
  const found = readFileSync(file, 'utf8').matchAll(/^= (.*)\n> (.*)\n< (.*)$/gm);
  return [...found].map(([, what = '', bytes = '', outcome = '']) => ({
    what,
    bytes: bytesOf(bytes),
    isClosed: outcome.endsWith('closed'),
  }));
}

const escapes: Readonly<Record<string, string>> = { r: '\r', n: '\n', t: '\t', '0': '\0', '\\': '\\' };

function bytesOf(text: string): Buffer {
  const repeated = text.replace(/\{(\d+)\*([^}]*)\}/g, (_, times: string, what: string) => what.repeat(Number(times)));
  const plain = repeated.replace(/\\(?:x([0-9a-fA-F]{2})|(.))/g, (_, hex: string | undefined, letter: string) =>
    hex === undefined ? (escapes[letter] ?? letter) : String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(plain, 'latin1');
}

/** A connection that is still open after this long was not closed. */
const closeMsMax = 4000;

async function tryOne(target: Target, { what, bytes, isClosed }: Case): Promise<void> {
  const socket = await target.dial();
  if (socket === undefined) return target.fate.harm(`no connection for ${what}`);
  const answers = new Http1Answers(target, socket);
  const first = answers.next();
  socket.write(bytes);
  const isOpenAt = performance.now() + closeMsMax;
  while (isClosed && !target.isOver && !socket.destroyed && performance.now() < isOpenAt) await target.sleep(10);
  if (isClosed && !target.isOver && !socket.destroyed) target.fate.harm(`left open after ${what}`);
  if (!isClosed) await Promise.race([first, target.sleep(closeMsMax)]);
  target.hangUp(socket);
}

export const malformedRequests: Attack = {
  name: 'malformed-requests',
  row: 'HTTP/1.1 framing and smuggling: what no client may send is refused and its connection closed, whatever follows it.',
  expected: 'refused',
  isFinite: true,
  run: async (target, pressure) => {
    const left = [...cases()];
    const loops = Math.max(1, Math.round(16 * pressure));
    await Promise.all(
      Array.from({ length: loops }, async () => {
        for (let one = left.pop(); one !== undefined && !target.isOver; one = left.pop()) await tryOne(target, one);
      }),
    );
  },
};
