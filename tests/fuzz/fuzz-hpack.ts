/** Header blocks: random, mutated, and legal ones that must come back as they went in. */
import { type HeaderField, HpackDecoder, HpackEncoder } from '@millrace/http2';
import { literalBlock, postFields } from '@millrace/http2/testing';
import type { FuzzRandom } from './random.ts';

const names = ['content-type', 'grpc-status', 'x-a', 'x-much-longer-name', 'accept', 'set-cookie', 'server', 'etag'];
const listBytesMax = 16_384;

function someFields(random: FuzzRandom): [string, string][] {
  return Array.from({ length: random.below(6) }, () => {
    const value = Array.from({ length: random.below(30) }, () => String.fromCharCode(33 + random.below(94))).join('');
    return [random.pick(names), random.oneIn(2) ? random.pick(['0', 'application/grpc', 'gzip']) : value];
  });
}

function encode(encoder: HpackEncoder, fields: [string, string][]): Buffer {
  const into = Buffer.alloc(HpackEncoder.bytesMax(fields));
  let at = encoder.begin(into, 0);
  for (const [name, value] of fields) at = encoder.encode(name, value, into, at);
  return into.subarray(0, at);
}

export function fuzzHpack(random: FuzzRandom): void {
  const decoder = new HpackDecoder();
  const encoder = new HpackEncoder();
  let isInStep = true;
  for (let count = random.below(5); count >= 0; count--) {
    const kind = random.below(5);
    const into: HeaderField[] = [];
    if (kind === 0 || kind === 1) {
      if (random.oneIn(6)) encoder.limitTable(random.pick([0, 33, 200, 4096, 1 << 20]));
      const fields = someFields(random);
      const block = encode(encoder, fields);
      if (!isInStep) continue;
      const result = decoder.decode(block, 0, block.length, into, listBytesMax);
      const got = into.map((field) => [field.name, field.value]);
      if (result !== 'ok' || JSON.stringify(got) !== JSON.stringify(fields)) {
        throw new Error(`${JSON.stringify(fields)} came back as ${result} ${JSON.stringify(got)}`);
      }
      continue;
    }
    const legal = random.oneIn(2) ? literalBlock(postFields) : encode(new HpackEncoder(), someFields(random));
    const block = kind === 2 ? random.bytes(random.below(64)) : random.mutate(legal);
    const result = decoder.decode(block, 0, block.length, into, listBytesMax);
    isInStep = false;
    let listBytes = 0;
    for (const field of into) listBytes += field.name.length + field.value.length + 32;
    if (listBytes > listBytesMax) throw new Error('more fields kept than the list may count');
    if (decoder.tableBytes > 4096) throw new Error('the table is larger than announced');
    if (result === 'compression-error') return;
  }
}
