/** Frames of every kind with everything wrong that can be: types, flags, numbers, lengths, payloads. */
import { clientPreface } from '@millrace/http2';
import { frame, getFields, hello, literalBlock, postFields, settings } from '@millrace/http2/testing';
import { driveHttp2 } from './http2-target.ts';
import type { FuzzRandom } from './random.ts';

function randomFrame(random: FuzzRandom): Buffer {
  const type = random.oneIn(20) ? random.below(256) : random.below(10);
  const flags = random.oneIn(2) ? random.pick([0, 1, 4, 5, 8, 0x20, 0x25, 0x2d]) : random.below(256);
  const streamId = random.pick([0, 1, 1, 1, 3, 3, 5, 2, 7, 0x7fffffff]);
  const kind = random.below(5);
  const payload =
    kind === 0
      ? random.bytes(random.below(40))
      : kind === 1
        ? literalBlock(random.oneIn(2) ? getFields : postFields)
        : kind === 2
          ? random.mutate(literalBlock(postFields))
          : kind === 3
            ? random.bytes(random.pick([4, 5, 6, 8, 12]))
            : Buffer.alloc(random.below(300), 'd');
  const bytes = frame(type, flags, streamId, payload);
  if (random.oneIn(30)) bytes.writeUIntBE(random.below(1 << 24), 0, 3);
  return bytes;
}

export function fuzzFrames(random: FuzzRandom): void {
  const parts: Buffer[] = [];
  const opening = random.below(10);
  if (opening === 0) parts.push(random.mutate(hello));
  else if (opening === 1) parts.push(clientPreface, settings([random.below(8), random.next()]));
  else parts.push(hello);
  for (let count = random.below(8); count >= 0; count--) parts.push(randomFrame(random));
  const input = Buffer.concat(parts);
  driveHttp2(random, random.cut(input), input.length);
}
