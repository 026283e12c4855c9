/** A configuration in its JSON form, as the parser of the text form would have read it: one schema checks both. */
import type { JsonObject, JsonValue } from '@millrace/protocol';
import type { TextField, TextList, TextMessage, TextScalar, TextValue } from './parser.ts';
import type { ElementField, MessageSchema, SchemaField } from './schema.ts';

/** JSON is mostly one long line, so problems name the field and no position. */
const nowhere = { line: 1, column: 1 } as const;

export function messageFromJson(object: JsonObject, schema: MessageSchema): TextMessage {
  const fields: TextField[] = [];
  for (const [key, value] of Object.entries(object)) {
    // In JSON, null is a field that is not set.
    if (value === null) continue;
    const name = nameIn(schema, key);
    const field = Object.hasOwn(schema, name) ? schema[name] : undefined;
    fields.push({ ...nowhere, name, value: valueFrom(value, field) });
  }
  return { ...nowhere, kind: 'message', fields };
}

/** Protobuf's JSON writes `maxBatchSize` for `max_batch_size`, and readers take both. */
function nameIn(schema: MessageSchema, key: string): string {
  if (Object.hasOwn(schema, key)) return key;
  const snake = key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return Object.hasOwn(schema, snake) ? snake : key;
}

function valueFrom(value: JsonValue, field: SchemaField | undefined): TextValue {
  if (field?.kind === 'map' && isObject(value)) {
    const elements = Object.entries(value).map(([key, one]): TextMessage => {
      const keyField = { ...nowhere, name: 'key', value: textOf(key, field.key) };
      return {
        ...nowhere,
        kind: 'message',
        fields: [keyField, { ...nowhere, name: 'value', value: elementFrom(one, field.value) }],
      };
    });
    return { ...nowhere, kind: 'list', elements };
  }
  if (Array.isArray(value)) return listFrom(value, field?.kind === 'list' ? field.element : undefined);
  if (field === undefined || field.kind === 'list' || field.kind === 'map') {
    return elementFrom(value, field?.kind === 'list' ? field.element : undefined);
  }
  return elementFrom(value, field.kind === 'choice-scalar' ? { kind: field.scalar } : field);
}

function listFrom(values: readonly JsonValue[], element: ElementField | undefined): TextList {
  return { ...nowhere, kind: 'list', elements: values.map((value) => elementFrom(value, element)) };
}

function elementFrom(value: JsonValue, field: ElementField | undefined): TextScalar | TextMessage {
  if (isObject(value)) return messageFromJson(value, field?.kind === 'message' ? field.message : {});
  if (Array.isArray(value)) return identifier('a list inside a list');
  if (typeof value === 'string') return textOf(value, field?.kind ?? 'string');
  if (typeof value === 'number' || typeof value === 'bigint') return numberOf(String(value));
  return identifier(String(value));
}

/** In JSON, names of an enumeration stand in quotes, and so may long integers. */
function textOf(text: string, kind: ElementField['kind']): TextScalar {
  if (kind === 'string' || kind === 'message') return { ...nowhere, kind: 'string', bytes: Buffer.from(text) };
  return /^-?[0-9]/.test(text) ? numberOf(text) : identifier(text);
}

function numberOf(text: string): TextScalar {
  const isNegative = text.startsWith('-');
  return { ...nowhere, kind: 'number', text: isNegative ? text.slice(1) : text, isNegative };
}

function identifier(text: string): TextScalar {
  return { ...nowhere, kind: 'identifier', text, isNegative: false };
}

function isObject(value: JsonValue): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
