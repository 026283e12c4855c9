import type { ReadonlyJsonObject, ReadonlyJsonValue } from '../../model/model-view.ts';
import type { Findings } from './findings.ts';
import type { TextField, TextMessage, TextScalar } from './parser.ts';
import { readEnum, readScalar } from './read-scalar.ts';
import type { ElementField, MapField, MessageSchema, SchemaField } from './schema.ts';
import { suggestionFor } from './suggestion.ts';

/**
 * Reads a parsed message as `schema` describes it. Everything that does not fit is a problem in `findings`, and is left
 * out of the result; what was not written is not in the result either.
 */
export function bindMessage(
  text: TextMessage,
  schema: MessageSchema,
  findings: Findings,
  path = '',
): ReadonlyJsonObject {
  return new Binder(schema, findings, path).bind(text);
}

type Value = ReadonlyJsonValue | undefined;

class Binder {
  readonly #schema: MessageSchema;
  readonly #findings: Findings;
  readonly #path: string;
  readonly #values = new Map<string, ReadonlyJsonValue>();
  readonly #lists = new Map<string, ReadonlyJsonValue[]>();
  readonly #maps = new Map<string, Map<string, ReadonlyJsonValue>>();
  /** The member that was set, by choice. */
  readonly #chosen = new Map<string, string>();
  readonly #seen = new Set<string>();

  constructor(schema: MessageSchema, findings: Findings, path: string) {
    this.#schema = schema;
    this.#findings = findings;
    this.#path = path;
  }

  bind(text: TextMessage): ReadonlyJsonObject {
    for (const field of text.fields) this.#bindField(field);
    for (const [name, elements] of this.#lists) {
      this.#values.set(
        name,
        elements.filter((element) => element !== null),
      );
    }
    for (const [name, entries] of this.#maps) this.#values.set(name, Object.fromEntries(entries));
    return Object.fromEntries(this.#values);
  }

  #bindField(written: TextField): void {
    const path = this.#path === '' ? written.name : `${this.#path}.${written.name}`;
    const findings = this.#findings;
    if (!findings.positions.has(path)) findings.positions.set(path, written);
    const field = Object.hasOwn(this.#schema, written.name) ? this.#schema[written.name] : undefined;
    if (field === undefined) {
      const suggestion = suggestionFor(written.name, Object.keys(this.#schema));
      this.#problemAt(written, path, `there is no such field${suggestion}`);
      return;
    }
    if (field.kind === 'list' || field.kind === 'map') {
      this.#bindRepeated(written, field, path);
      return;
    }
    if (this.#seen.has(written.name)) {
      this.#problemAt(written, path, 'is given twice; keep one of them');
      return;
    }
    this.#seen.add(written.name);
    if (written.value.kind === 'list') {
      this.#problemAt(written, path, 'takes one value, not a list');
      return;
    }
    if (!this.#claimChoice(written, field, path)) return;
    const element: ElementField = field.kind === 'choice-scalar' ? { kind: field.scalar } : field;
    const value = this.#bindElement(written.value, element, path);
    if (value !== undefined) this.#values.set(written.name, value);
  }

  #claimChoice(written: TextField, field: SchemaField, path: string): boolean {
    const choice = field.kind === 'message' || field.kind === 'choice-scalar' ? field.choice : undefined;
    if (choice === undefined) return true;
    const other = this.#chosen.get(choice);
    if (other !== undefined) {
      this.#problemAt(written, path, `cannot stand beside ${other}; keep one of them`);
      return false;
    }
    this.#chosen.set(choice, written.name);
    return true;
  }

  #bindRepeated(written: TextField, field: Extract<SchemaField, { kind: 'list' | 'map' }>, path: string): void {
    const elements = written.value.kind === 'list' ? written.value.elements : [written.value];
    if (field.kind === 'map') {
      const entries = this.#maps.get(written.name) ?? new Map<string, ReadonlyJsonValue>();
      this.#maps.set(written.name, entries);
      for (const element of elements) this.#bindEntry(element, field, entries, path);
      return;
    }
    const values = this.#lists.get(written.name) ?? [];
    this.#lists.set(written.name, values);
    for (const element of elements) {
      const elementPath = `${path}[${values.length}]`;
      this.#findings.positions.set(elementPath, written.value.kind === 'list' ? element : written);
      const value = this.#bindElement(element, field.element, elementPath);
      // An element that could not be read keeps its index until all are numbered, so that paths match the file.
      values.push(value ?? null);
    }
  }

  #bindEntry(
    element: TextScalar | TextMessage,
    field: MapField,
    entries: Map<string, ReadonlyJsonValue>,
    path: string,
  ): void {
    if (element.kind !== 'message') {
      this.#problemAt(element, path, 'is a map: write { key: … value: … }');
      return;
    }
    const keySchema: MessageSchema = { key: { kind: field.key } };
    const keyFields = element.fields.filter(({ name }) => name !== 'value');
    const bound = bindMessage({ ...element, fields: keyFields }, keySchema, this.#findings, path);
    const key = bound.key === undefined ? '' : String(bound.key);
    const entryPath = `${path}[${JSON.stringify(key)}]`;
    this.#findings.positions.set(entryPath, element);
    if (!keyFields.some(({ name }) => name === 'key')) {
      this.#problemAt(element, path, 'has an entry without a key: write { key: … value: … }');
      return;
    }
    if (entries.has(key)) this.#findings.warning(entryPath, 'is given twice; the last one counts');
    const valueFields = element.fields.filter(({ name }) => name === 'value');
    const valueHolder = bindMessage(
      { ...element, fields: valueFields.map((value) => ({ ...value, name: 'value' })) },
      { value: field.value },
      this.#findings,
      entryPath,
    );
    entries.set(key, valueHolder.value ?? defaultOf(field.value));
  }

  #bindElement(value: TextScalar | TextMessage, field: ElementField, path: string): Value {
    if (field.kind === 'message') {
      if (value.kind === 'message') return bindMessage(value, field.message, this.#findings, path);
      this.#problemAt(value, path, 'is a block: write its fields between { and }');
      return undefined;
    }
    if (value.kind === 'message') {
      this.#problemAt(value, path, 'takes a single value, not a block');
      return undefined;
    }
    const result = field.kind === 'enum' ? readEnum(value, field) : readScalar(value, field.kind);
    if ('value' in result) return result.value;
    this.#problemAt(value, path, result.problem);
    return undefined;
  }

  /** Reports the position of this occurrence, not that of the first field with the same path. */
  #problemAt(position: { line: number; column: number }, path: string, message: string): void {
    const before = this.#findings.positions.get(path);
    this.#findings.positions.set(path, position);
    this.#findings.problem(path, message);
    if (before !== undefined) this.#findings.positions.set(path, before);
  }
}

function defaultOf(field: ElementField): ReadonlyJsonValue {
  switch (field.kind) {
    case 'message':
      return {};
    case 'enum':
      return field.names[0] ?? '';
    case 'string':
      return '';
    case 'bool':
      return false;
    default:
      return 0;
  }
}
