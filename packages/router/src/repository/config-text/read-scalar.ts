import { floatFrom, integerFrom, specialFloatFrom } from './number-literal.ts';
import type { TextScalar } from './parser.ts';
import type { EnumField, IntegerKind, ScalarKind } from './schema.ts';
import { suggestionFor } from './suggestion.ts';

/** Either the value, or what is wrong with it. */
export type ScalarResult = { readonly value: string | number | bigint | boolean } | { readonly problem: string };

const integerRanges: Readonly<Record<IntegerKind, readonly [min: bigint, max: bigint]>> = {
  int32: [-(2n ** 31n), 2n ** 31n - 1n],
  uint32: [0n, 2n ** 32n - 1n],
  int64: [-(2n ** 63n), 2n ** 63n - 1n],
  uint64: [0n, 2n ** 64n - 1n],
};
const truths: Readonly<Record<string, boolean>> = {
  true: true,
  True: true,
  t: true,
  false: false,
  False: false,
  f: false,
};
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export function readScalar(scalar: TextScalar, kind: ScalarKind): ScalarResult {
  switch (kind) {
    case 'string':
      return readString(scalar);
    case 'bool':
      return readBool(scalar);
    case 'float':
    case 'double':
      return readFloat(scalar, kind);
    case 'int32':
    case 'uint32':
    case 'int64':
    case 'uint64':
      return readInteger(scalar, kind);
  }
}

/** As many names as there are datatypes. */
const listedMax = 16;

export function readEnum(scalar: TextScalar, field: EnumField): ScalarResult {
  const written = asWritten(scalar);
  if (scalar.kind === 'identifier' && field.names.includes(written)) return { value: written };
  if (scalar.kind === 'number') {
    const name = field.names[Number(integerFrom(scalar.text) ?? -1n)];
    if (name !== undefined && !scalar.isNegative) return { value: name };
  }
  const choices =
    field.names.length > listedMax ? `${field.names.slice(0, listedMax).join(', ')}, …` : field.names.join(', ');
  const hint = scalar.kind === 'string' ? '; write it without quotes' : suggestionFor(written, field.names);
  return { problem: `${written} is none of ${choices}${hint}` };
}

function readString(scalar: TextScalar): ScalarResult {
  if (scalar.kind !== 'string') {
    return { problem: `expected a string, found ${asWritten(scalar)}; put it in quotes` };
  }
  try {
    return { value: utf8.decode(scalar.bytes) };
  } catch {
    return { problem: 'the string is not valid UTF-8; check its escapes' };
  }
}

function readBool(scalar: TextScalar): ScalarResult {
  if (scalar.kind !== 'string' && !scalar.isNegative) {
    if (Object.hasOwn(truths, scalar.text)) return { value: truths[scalar.text] ?? false };
    const integer = scalar.kind === 'number' ? integerFrom(scalar.text) : undefined;
    if (integer === 0n || integer === 1n) return { value: integer === 1n };
  }
  return { problem: `expected true or false, found ${asWritten(scalar)}` };
}

function readInteger(scalar: TextScalar, kind: IntegerKind): ScalarResult {
  const magnitude = scalar.kind === 'number' ? integerFrom(scalar.text) : undefined;
  if (magnitude === undefined || scalar.kind === 'string') {
    return { problem: `expected a whole number, found ${asWritten(scalar)}` };
  }
  const value = scalar.isNegative ? -magnitude : magnitude;
  const [min, max] = integerRanges[kind];
  if (value < min || value > max) {
    return { problem: `${asWritten(scalar)} is out of range; it must be from ${min} to ${max}` };
  }
  const asNumber = Number(value);
  return { value: Number.isSafeInteger(asNumber) ? asNumber : value };
}

function readFloat(scalar: TextScalar, kind: 'float' | 'double'): ScalarResult {
  if (scalar.kind === 'string') return { problem: `expected a number, found ${asWritten(scalar)}` };
  const magnitude = scalar.kind === 'number' ? floatFrom(scalar.text) : specialFloatFrom(scalar.text);
  if (magnitude === undefined) return { problem: `expected a decimal number, found ${asWritten(scalar)}` };
  const value = scalar.isNegative ? -magnitude : magnitude;
  return { value: kind === 'float' ? Math.fround(value) : value };
}

const shownLengthMax = 60;

function asWritten(scalar: TextScalar): string {
  const text =
    scalar.kind === 'string'
      ? JSON.stringify(Buffer.from(scalar.bytes).toString('utf8'))
      : `${scalar.isNegative ? '-' : ''}${scalar.text}`;
  return text.length > shownLengthMax ? `${text.slice(0, shownLengthMax)}…` : text;
}
