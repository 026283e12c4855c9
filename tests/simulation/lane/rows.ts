/**
 * What the rows of requests and answers hold. A row of `x` is the number of its question and its position, so that a worker
 * knows whose rows it was given and a caller whose answer it got; each model that runs it adds one hop.
 */
import { copyOf, encodeBytesElements, takeBytesElements } from '@millrace/protocol';

export const rowsPerQuestion = 64;
/** Larger than any question and its rows. */
export const hopValue: number = 2 ** 26;

export function rowValue(question: number, row: number): number {
  return question * rowsPerQuestion + row;
}

export function questionOf(value: number): number {
  return Math.floor((value % hopValue) / rowsPerQuestion);
}

export function int32Bytes(values: readonly number[]): Uint8Array {
  return new Uint8Array(Int32Array.from(values).buffer);
}

export function int32Values(data: Uint8Array): readonly number[] {
  return [...new Int32Array(copyOf(data).buffer)];
}

/** The `text` rows of a question: its number and as many further bytes as given for each row. */
export function textRows(question: number, lengths: readonly number[]): Uint8Array {
  return encodeBytesElements(lengths.map((length) => `${question} ${'z'.repeat(length)}`));
}

/** The questions of the `text` rows; undefined where the bytes are no such rows. */
export function takeTextQuestions(data: Uint8Array): readonly number[] | undefined {
  return takeBytesElements(data)?.map((element) => Number.parseInt(Buffer.from(element).toString('latin1'), 10));
}
