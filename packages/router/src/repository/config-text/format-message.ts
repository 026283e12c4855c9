import type { ReadonlyJsonObject, ReadonlyJsonValue } from '../../model/model-view.ts';
import type { ElementField, MessageSchema, ScalarKind, SchemaField } from './schema.ts';

/**
 * A message in protobuf's JSON form with the original field names and every field that has a default included: scalars,
 * lists and maps always, messages and members of a choice only when set. 64-bit integers stay numbers, as in Triton.
 */
export function formatMessage(message: ReadonlyJsonObject, schema: MessageSchema): ReadonlyJsonObject {
  const entries: [string, ReadonlyJsonValue][] = [];
  for (const [name, field] of Object.entries(schema)) {
    const value = formatField(Object.hasOwn(message, name) ? message[name] : undefined, field);
    if (value !== undefined) entries.push([name, value]);
  }
  return Object.fromEntries(entries);
}

function formatField(value: ReadonlyJsonValue | undefined, field: SchemaField): ReadonlyJsonValue | undefined {
  switch (field.kind) {
    case 'list':
      return Array.isArray(value) ? value.map((element) => formatElement(element, field.element)) : [];
    case 'map':
      return Object.fromEntries(
        Object.entries((value ?? {}) as ReadonlyJsonObject).map(([key, entry]) => [
          key,
          formatElement(entry, field.value),
        ]),
      );
    case 'message':
      return value === undefined ? undefined : formatElement(value, field);
    case 'choice-scalar':
      return value === undefined ? undefined : formatElement(value, { kind: field.scalar });
    case 'enum':
      return formatElement(value === undefined ? (field.names[0] ?? '') : value, field);
    default:
      return formatElement(value ?? zeroOf(field.kind), field);
  }
}

function formatElement(value: ReadonlyJsonValue, field: ElementField): ReadonlyJsonValue {
  if (field.kind === 'message') return formatMessage(value as ReadonlyJsonObject, field.message);
  // JSON has no such numbers; protobuf's JSON form writes them as strings.
  if (typeof value === 'number' && !Number.isFinite(value)) {
    return Number.isNaN(value) ? 'NaN' : value > 0 ? 'Infinity' : '-Infinity';
  }
  return value;
}

function zeroOf(kind: ScalarKind): ReadonlyJsonValue {
  if (kind === 'string') return '';
  return kind === 'bool' ? false : 0;
}
