/** The payloads of durable streams as the referee compares them: a number, and how many bytes it takes in the journal. */
import type { StreamEntry } from '@millrace/core';
import type { StreamPayload, StreamToken, Tensor } from '@millrace/protocol';
import { payloadCodec } from '@millrace/router/edges';
import { int32Bytes, int32Values, questionOf, rowValue, textRows } from '../lane/rows.ts';
import { mixedHash, type SimulatedValue } from '../streams/reference-run.ts';

/** The tensors of an input: the first row of its question. */
export function inputPayload(question: number, textLength: number, isBatched: boolean): StreamPayload {
  const shape = isBatched ? [1, 1] : [1];
  return {
    kind: 'tensors',
    tensors: [
      { name: 'x', datatype: 'INT32', shape, data: int32Bytes([rowValue(question, 0)]) },
      { name: 'text', datatype: 'BYTES', shape, data: textRows(question, [textLength]) },
    ],
  };
}

/** What an output says: whose row it is, and the state of the stream where there is one. */
export function outputHash(y: number, sum: number | undefined): number {
  return mixedHash(y, sum ?? 0);
}

/** The file that gave an output. */
export function makerOf(output: Uint8Array): number | undefined {
  return tensorValue(tensorsOf(payloadCodec.decodeOutput(output)), 'by');
}

export function tensorValue(tensors: readonly Tensor[], name: string): number | undefined {
  const tensor = tensors.find((one) => one.name === name);
  return tensor && int32Values(tensor.data)[0];
}

export function outputValue(bytes: Uint8Array): SimulatedValue {
  const tensors = tensorsOf(payloadCodec.decodeOutput(bytes));
  const value = outputHash(tensorValue(tensors, 'y') ?? -1, tensorValue(tensors, 'sum'));
  return { byteLength: bytes.length, value };
}

/** An entry of the journal with its payload as a value. */
export function comparableEntry(entry: StreamEntry<Uint8Array>): StreamEntry<SimulatedValue> {
  switch (entry.kind) {
    case 'opening':
      return { ...entry, payload: { byteLength: entry.payload.length, value: 0 } };
    case 'input':
      return { ...entry, payload: entry.payload && inputValue(entry.payload) };
    case 'output':
      return { ...entry, payload: entry.payload && outputValue(entry.payload) };
    case 'checkpoint':
      return { ...entry, state: entry.state && stateValue(entry.state) };
    case 'ending':
      return entry;
  }
}

function inputValue(bytes: Uint8Array): SimulatedValue {
  const x = tensorValue(tensorsOf(payloadCodec.decodeInput(bytes)), 'x');
  return { byteLength: bytes.length, value: x === undefined ? -1 : questionOf(x) };
}

function stateValue(bytes: Uint8Array): SimulatedValue {
  const state = tensorValue(tensorsOf(payloadCodec.decodeOutput(bytes)), 'state');
  return { byteLength: bytes.length, value: state ?? -1 };
}

function tensorsOf(payload: StreamPayload | StreamToken): readonly Tensor[] {
  return payload.kind === 'tensors' ? payload.tensors : [];
}
