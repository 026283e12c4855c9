import type { JsonObject, JsonValue } from '../../model/model-view.ts';
import type { ElementField, Field, MessageSchema, ScalarKind } from './schema.ts';

/**
 * A message in protobuf's JSON form with the original field names and every field that has a default printed: scalars,
 * lists and maps always, messages and members of a choice only when set. 64-bit integers stay numbers, as Triton has it.
 */
export function printMessage(message: JsonObject, schema: MessageSchema): JsonObject {
  const printed: [string, JsonValue][] = [];
  for (const [name, field] of Object.entries(schema)) {
    const value = printField(Object.hasOwn(message, name) ? message[name] : undefined, field);
    if (value !== undefined) printed.push([name, value]);
  }
  return Object.fromEntries(printed);
}

function printField(value: JsonValue | undefined, field: Field): JsonValue | undefined {
  switch (field.kind) {
    case 'list':
      return Array.isArray(value) ? value.map((element) => printElement(element, field.element)) : [];
    case 'map':
      return Object.fromEntries(
        Object.entries((value ?? {}) as JsonObject).map(([key, entry]) => [key, printElement(entry, field.value)]),
      );
    case 'message':
      return value === undefined ? undefined : printElement(value, field);
    case 'choice-scalar':
      return value === undefined ? undefined : printElement(value, { kind: field.scalar });
    case 'enum':
      return printElement(value ?? field.names[0] ?? '', field);
    default:
      return printElement(value ?? zeroOf(field.kind), field);
  }
}

function printElement(value: JsonValue, field: ElementField): JsonValue {
  if (field.kind === 'message') return printMessage(value as JsonObject, field.message);
  // JSON has no such numbers; protobuf's JSON form writes them as strings.
  if (typeof value === 'number' && !Number.isFinite(value)) {
    return Number.isNaN(value) ? 'NaN' : value > 0 ? 'Infinity' : '-Infinity';
  }
  return value;
}

function zeroOf(kind: ScalarKind): JsonValue {
  if (kind === 'string') return '';
  return kind === 'bool' ? false : 0;
}
