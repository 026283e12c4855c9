import { expect, test } from 'vitest';
import { JsonReader, type JsonSpan, jsonDepthMax } from './reader.ts';
import { readTensorData } from './tensor-reader.ts';
import { readJsonValue } from './value.ts';
import { JsonWriter } from './writer.ts';

const encoder = new TextEncoder();
const readerOf = (text: string): JsonReader => new JsonReader(encoder.encode(text));

test('data that comes before its shape is spanned and read later', () => {
  const reader = readerOf('{"data" : [ [1,2] , [3,4] ] ,"x]":"[{\\"]","datatype":"INT16","shape":[2,2]}');
  let span: JsonSpan | undefined;
  let shape: number[] = [];
  const others: string[] = [];
  reader.beginObject();
  for (let key = reader.nextKey(); key !== undefined; key = reader.nextKey()) {
    if (key === 'data') span = reader.takeSpan();
    else if (key === 'shape') shape = readJsonValue(reader) as number[];
    else others.push(`${key}=${reader.readString()}`);
  }
  reader.expectEnd();
  expect(others).toEqual(['x]=[{"]', 'datatype=INT16']);
  const late = reader.readerOf(span as JsonSpan);
  const data = readTensorData(late, { name: 'x', datatype: 'INT16', shape });
  late.expectEnd();
  expect(new Int16Array(data.buffer)).toEqual(Int16Array.of(1, 2, 3, 4));
});

test('a span covers exactly its value, whatever is in it', () => {
  for (const value of [
    '[]',
    '{}',
    '[[],[{}]]',
    '"]"',
    '["]","\\"]","\\\\"]',
    '{"a]":"}"}',
    '1',
    '-1.5e3',
    'true',
    'null',
    'NaN',
  ]) {
    const reader = readerOf(`[${value} ,"next"]`);
    reader.beginArray();
    reader.nextElement();
    const span = reader.takeSpan();
    expect(new TextDecoder().decode(reader.bytes.subarray(span.start, span.end))).toBe(value);
    expect(reader.nextElement()).toBe(true);
    expect(reader.readString()).toBe('next');
    const inside = reader.readerOf(span);
    inside.skipValue();
    inside.expectEnd();
  }
});

test('a span that never ends is refused, and one with crossed brackets when it is read', () => {
  for (const text of ['[1,2', '[[1]', '["]', '{"a":"', '["\\'])
    expect(() => readerOf(text).takeSpan()).toThrow(/is not closed/);
  const reader = readerOf('[1}');
  expect(() => reader.readerOf(reader.takeSpan()).skipValue()).toThrow(/expected ',' or ']'/);
});

test('the depth limit holds inside a span', () => {
  const outer = jsonDepthMax - 10;
  const reader = readerOf('['.repeat(outer) + '['.repeat(11) + ']'.repeat(jsonDepthMax + 1));
  for (let depth = 0; depth < outer; depth += 1) {
    reader.beginArray();
    expect(reader.nextElement()).toBe(true);
  }
  const span = reader.takeSpan();
  expect(() => reader.readerOf(span).skipValue()).toThrow(/nested more than 100 deep/);
});

test('a skipped value is checked as strictly as one that is read', () => {
  const bad = [
    '{"a":1,"a":2}',
    '"\\ud800"',
    '[1,]',
    '[01]',
    'Inf',
    '{"a"}',
    '[tru]',
    '[nul]',
    '"\u0001"',
    '[1',
    '{"k":[{}}',
  ];
  for (const text of bad) expect(() => readerOf(text).skipValue()).toThrow(/^JSON at line 1/);
  const reader = readerOf('[{"a":[1,"x",true,false,null,NaN],"b":{}},2]');
  reader.beginArray();
  reader.nextElement();
  reader.skipValue();
  expect(reader.nextElement()).toBe(true);
  expect(reader.readNumber()).toBe(2);
  expect(reader.nextElement()).toBe(false);
  reader.expectEnd();
});

test('asking for another kind of value than is there is refused with what was expected', () => {
  expect(() => readerOf('1').beginObject()).toThrow("JSON at line 1, column 1 (byte 0): expected an object, found '1'");
  expect(() => readerOf('{}').beginArray()).toThrow("expected an array, found '{'");
  expect(() => readerOf('1').readString()).toThrow("expected a string, found '1'");
  expect(() => readerOf('"1"').readNumber()).toThrow(`expected a number, found '"'`);
  expect(() => readerOf('1').readBoolean()).toThrow("expected true or false, found '1'");
  expect(() => readerOf('1').readNull()).toThrow("expected null, found '1'");
});

test('kinds are told by their first byte', () => {
  const kinds = ['{', '[', '"', 't', 'f', 'n', '0', '9', '-', 'N', 'I'].map((text) => readerOf(` ${text}`).peekKind());
  expect(kinds).toEqual([
    'object',
    'array',
    'string',
    'boolean',
    'boolean',
    'null',
    'number',
    'number',
    'number',
    'number',
    'number',
  ]);
});

test('a reader stays inside the bytes it was given', () => {
  const memory = encoder.encode('xx[1,2]34');
  const reader = new JsonReader(memory.subarray(2, 7));
  expect(readJsonValue(reader)).toEqual([1, 2]);
  reader.expectEnd();
  const number = new JsonReader(memory, { start: 3, end: 4, depth: 0 });
  expect(number.readNumber()).toBe(1);
  number.expectEnd();
});

test('a writer writes commas, whatever the values', () => {
  const writer = new JsonWriter(1);
  writer.beginObject();
  writer.key('a');
  writer.beginArray();
  writer.number(1);
  writer.null();
  writer.boolean(true);
  writer.boolean(false);
  writer.string('x');
  writer.beginObject();
  writer.endObject();
  writer.beginArray();
  writer.endArray();
  writer.endArray();
  writer.key('b');
  writer.number(2n ** 64n);
  writer.endObject();
  expect(new TextDecoder().decode(writer.take())).toBe('{"a":[1,null,true,false,"x",{},[]],"b":18446744073709551616}');
});

test('a writer writes numbers as JSON.stringify does', () => {
  for (const value of [
    0,
    1,
    -1,
    9,
    10,
    99,
    100,
    999999999,
    1e9,
    1234567890123,
    2 ** 53 - 1,
    1 - 2 ** 53,
    0.1,
    1e21,
    1e-7,
    5e-324,
  ]) {
    const writer = new JsonWriter();
    writer.number(value);
    expect(new TextDecoder().decode(writer.take())).toBe(JSON.stringify(value));
  }
});
