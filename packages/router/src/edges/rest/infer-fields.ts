/** The header fields of an inference, read once for a client that repeats its head. */
import type { HeaderFields } from '@millrace/http';
import { timeoutField, timeoutMsFromField } from '../request-deadline.ts';
import { headerLengthField, jsonBytesFromField } from './decode-request.ts';
import { type Packing, requestPackingFrom } from './decompress.ts';

export class InferFields {
  readonly jsonBytes: number | undefined;
  readonly timeoutMs: number | undefined;
  readonly packing: Packing | undefined;
  readonly acceptEncoding: string | undefined;
  /** A request without JSON cannot say in which form it wants the outputs; `Accept: application/json` does. */
  readonly wantsJson: boolean;

  constructor(headers: HeaderFields) {
    this.jsonBytes = jsonBytesFromField(headers.getAll(headerLengthField));
    this.timeoutMs = timeoutMsFromField(takeJoined(headers, timeoutField));
    this.packing = requestPackingFrom(takeJoined(headers, 'content-encoding'));
    this.acceptEncoding = takeJoined(headers, 'accept-encoding');
    this.wantsJson =
      this.jsonBytes === 0 && /\bapplication\/json(?![\w.+-])/i.test(takeJoined(headers, 'accept') ?? '');
  }
}

/** Throws for an invalid field. */
export function inferFieldsFrom(headers: HeaderFields): InferFields {
  const { memo } = headers;
  if (memo instanceof InferFields) return memo;
  const fields = new InferFields(headers);
  headers.memo = fields;
  return fields;
}

/** A field that was sent several times is one list. */
function takeJoined(headers: HeaderFields, name: string): string | undefined {
  const values = headers.getAll(name);
  return values.length > 1 ? values.join(', ') : values[0];
}
