/** The configuration file: groups of fields in YAML, every problem with its line. */
import { createRequire } from 'node:module';
import path from 'node:path';
import type { ConfigProblem } from '@millrace/protocol';
import type * as Yaml from 'yaml';
import { configFields, fields } from './fields.ts';
import { didYouMean } from './suggest.ts';
import type { ConfigLayer, WrittenValue } from './written-value.ts';

export interface ConfigFile {
  /** As the operator named it. */
  readonly path: string;
  readonly text: string;
}

/** Far above any real configuration; a model file given by mistake is refused before it is parsed. */
export const configFileBytesMax = 1024 * 1024;

const groups = Object.keys(fields);

/** The library is some seventy files: loaded by the first configuration file, for most servers have none. */
function yaml(): typeof Yaml {
  return createRequire(import.meta.url)('yaml') as typeof Yaml;
}

export function readYamlLayer(file: ConfigFile, cwd: string): ConfigLayer {
  const reader = new YamlReader(file, cwd);
  reader.read();
  return reader;
}

class YamlReader implements ConfigLayer {
  readonly values: WrittenValue[] = [];
  readonly problems: ConfigProblem[] = [];
  readonly #file: ConfigFile;
  readonly #folder: string;
  readonly #yaml = yaml();
  readonly #lines = new this.#yaml.LineCounter();
  readonly #document: Yaml.Document;

  constructor(file: ConfigFile, cwd: string) {
    this.#file = file;
    this.#folder = path.dirname(path.resolve(cwd, file.path));
    this.#document = this.#yaml.parseDocument(file.text, { lineCounter: this.#lines, prettyErrors: false });
  }

  read(): void {
    for (const error of [...this.#document.errors, ...this.#document.warnings]) {
      const isSeveral = error.code === 'MULTIPLE_DOCS';
      this.#problemAt(
        error.pos[0],
        undefined,
        isSeveral ? 'a second document begins here; a configuration file holds only one' : error.message,
      );
    }
    if (this.#document.errors.length > 0) return;
    const root = this.#resolved(this.#document.contents);
    if (root === null || (this.#yaml.isScalar(root) && root.value === null)) return;
    if (!this.#yaml.isMap(root)) {
      this.#problem(root, undefined, `must be groups of fields (${groups.join(', ')})`);
      return;
    }
    for (const { key, value, keyNode } of this.#entries(root)) this.#readGroup(key, keyNode, value);
  }

  #readGroup(group: string, keyNode: Yaml.Node, value: Yaml.Node | null): void {
    if (!groups.includes(group)) {
      const misplaced = configFields.find((field) => field.name === group || field.path === group);
      const advice =
        misplaced === undefined
          ? didYouMean(group, groups)
          : ` ${misplaced.name} belongs under ${misplaced.group}:, indented.`;
      this.#problem(keyNode, group, `is not a group of fields.${advice}`);
      return;
    }
    const members = this.#resolved(value);
    if (!this.#yaml.isMap(members)) {
      this.#problem(keyNode, group, `must hold fields, one a line, indented under ${group}:`);
      return;
    }
    for (const entry of this.#entries(members)) this.#readField(group, entry.key, entry.keyNode, entry.value);
  }

  #readField(group: string, name: string, keyNode: Yaml.Node, node: Yaml.Node | null): void {
    const field = configFields.find((one) => one.group === group && one.name === name);
    const fieldPath = `${group}.${name}`;
    if (field === undefined) {
      this.#problem(keyNode, fieldPath, `is not a field.${suggestField(group, name)}`);
      return;
    }
    let value: unknown;
    try {
      value = node?.toJS(this.#document) ?? null;
    } catch (error) {
      this.#problem(keyNode, fieldPath, error instanceof Error ? error.message : String(error));
      return;
    }
    if (value === null) {
      this.#problem(keyNode, fieldPath, 'has no value; give it one or remove the line');
      return;
    }
    const line = this.#lineOf(keyNode);
    this.values.push({ field, value, source: this.#file.path, line, folder: this.#folder });
  }

  *#entries(map: Yaml.YAMLMap): Iterable<{ key: string; keyNode: Yaml.Node; value: Yaml.Node | null }> {
    for (const pair of map.items) {
      const keyNode = pair.key as Yaml.Node;
      if (this.#yaml.isScalar(keyNode) && typeof keyNode.value === 'string') {
        yield { key: keyNode.value, keyNode, value: pair.value as Yaml.Node | null };
      } else {
        this.#problem(keyNode, undefined, 'the name of a field must be plain text');
      }
    }
  }

  #resolved(node: Yaml.Node | null): Yaml.Node | null {
    return this.#yaml.isAlias(node) ? (node.resolve(this.#document) ?? null) : node;
  }

  #lineOf(node: Yaml.Node): number {
    return this.#lines.linePos(node.range?.[0] ?? 0).line;
  }

  #problem(node: Yaml.Node, field: string | undefined, message: string): void {
    this.#problemAt(node.range?.[0] ?? 0, field, message);
  }

  #problemAt(offset: number, field: string | undefined, message: string): void {
    const line = this.#lines.linePos(offset).line;
    this.problems.push({ source: this.#file.path, line, ...(field === undefined ? {} : { field }), message });
  }
}

/** A field of the same group first; the same name elsewhere, or a synonym, next. */
function suggestField(group: string, name: string): string {
  const inGroup = configFields.filter((field) => field.group === group).map((field) => field.name);
  const near = didYouMean(name, inGroup);
  if (near !== '') return near;
  const paths = new Map<string, string>();
  for (const { path: fieldPath, name: fieldName, field } of configFields) {
    for (const known of [fieldName, field.flag, ...(field.synonyms ?? [])]) paths.set(known, fieldPath);
  }
  return didYouMean(name, paths.keys(), (known) => paths.get(known) ?? known);
}
