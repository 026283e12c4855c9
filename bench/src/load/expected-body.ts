/** Checks of answer bodies that are light enough to run under load. */
import { isNearly } from '../nearly.ts';

/** Whether a body ends in these float32s, compared as numbers: a batch may round the last bit otherwise than a lone row. */
export function endsInFloats(body: Buffer, expected: Buffer): boolean {
  const begin = body.length - expected.length;
  if (begin < 0) return false;
  for (let offset = 0; offset < expected.length; offset += 4) {
    const value = body.readFloatLE(begin + offset);
    if (!(Math.abs(value - expected.readFloatLE(offset)) < 1e-5)) return false;
  }
  return true;
}

/** Whether the first output of a JSON answer holds these float32s. */
export function holdsOutput(body: Buffer, expected: Buffer): boolean {
  const { outputs } = JSON.parse(body.toString('utf8')) as { outputs: readonly { data: readonly number[] }[] };
  return isNearly(outputs[0]?.data ?? [], new Float32Array(Uint8Array.from(expected).buffer));
}
