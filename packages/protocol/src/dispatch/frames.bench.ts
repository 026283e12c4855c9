/**
 * A batch of one row of 64 floats through the frames: written, split off the stream and read again, beside the same
 * message with its fields as JSON and its tensor after them. Budget, as a ratio of the pair: at most 0.5.
 *
 *     npx tsc -b && npx vitest bench --run --project unit packages/protocol/src/dispatch
 */
import { bench, describe } from 'vitest';
import type * as Protocol from '../index.ts';

// The built package, loaded by Node itself: the test runner would turn each use of an import into a call of a getter.
const builtUrl = new URL('../../dist/index.js', import.meta.url).href;
const built = (await import(`data:text/javascript,export * from ${JSON.stringify(builtUrl)}`)) as typeof Protocol;

const region = { bytes: new Uint8Array(256).fill(7), release: () => {} };
const inputs = [{ index: 0, shape: [1, 64], data: region.bytes }];
const message = { kind: 'dispatch', batch: 123_456, model: 7, inputs, outputs: [0], region } as const;
const findNothing = (): undefined => undefined;
/** Results go here, so that no reading can be optimised away. */
export let seen = 0;

describe('a dispatch of 64 floats', () => {
  const writer = new built.FrameWriter();
  const reader = new built.DispatchFrameReader((frame) => {
    const read = built.decodeToWorker(frame, findNothing);
    if (read.kind === 'dispatch') seen += read.inputs[0]?.data.length ?? 0;
  });
  bench('frames', () => {
    writer.append(message);
    const bytes = writer.takeBytes();
    reader.push(bytes);
    writer.recycle(bytes);
  });

  const encoder = new TextEncoder();
  const decoder = new TextDecoder();
  bench('JSON with the tensor behind it', () => {
    const { batch, model, outputs } = message;
    const fields = { kind: message.kind, batch, model, outputs, inputs: [{ index: 0, shape: [1, 64], bytes: 256 }] };
    const header = encoder.encode(JSON.stringify(fields));
    const bytes = new Uint8Array(4 + header.length + 256);
    new DataView(bytes.buffer).setUint32(0, header.length, true);
    bytes.set(header, 4);
    bytes.set(region.bytes, 4 + header.length);
    const length = new DataView(bytes.buffer).getUint32(0, true);
    const read = JSON.parse(decoder.decode(bytes.subarray(4, 4 + length))) as { inputs: { bytes: number }[] };
    seen += bytes.subarray(4 + length).length + (read.inputs[0]?.bytes ?? 0);
  });
});
