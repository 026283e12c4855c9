/** What an output of a stream adds to a text. */
import { isUtf8 } from 'node:buffer';
import { elementCount, type StreamPayload, type StreamToken, type Tensor, takeBytesElements } from '@millrace/protocol';
import type { SliceGenerator } from '../../slices/slice-queue.ts';
import { textOutputName } from '../output-tensors.ts';
import { type ResultView, resultJsonOf } from './result-json.ts';

/** A text where the output has one: that of a generator, or the one text of another model. Otherwise its outputs as JSON. */
export function* outputTextOf(payload: StreamPayload | StreamToken, view: ResultView): SliceGenerator<string> {
  switch (payload.kind) {
    case 'none':
      return '';
    case 'text':
    case 'token':
      return payload.text;
    case 'bytes':
      return Buffer.from(payload.bytes).toString(isUtf8(payload.bytes) ? 'utf8' : 'base64');
    case 'tensors':
      return takeText(payload.tensors) ?? (yield* resultJsonOf(payload.tensors, view));
  }
}

function takeText(outputs: readonly Tensor[]): string | undefined {
  const texts = outputs.filter(({ datatype }) => datatype === 'BYTES');
  const output = texts.find(({ name }) => name === textOutputName) ?? (outputs.length === 1 ? texts[0] : undefined);
  if (output === undefined || elementCount(output.shape) !== 1) return undefined;
  const [element] = takeBytesElements(output.data) ?? [];
  return element !== undefined && isUtf8(element) ? Buffer.from(element).toString() : undefined;
}
