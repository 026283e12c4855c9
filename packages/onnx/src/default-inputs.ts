/** Turns inputs with a default value into required inputs: for engines that accept no other value otherwise. */
import { OnnxFileError } from './onnx-file-error.ts';
import { readInitializer } from './read-initializer.ts';
import { forEachDelimited, readValueInfo } from './read-value-info.ts';
import { graphFields, modelFields, rewriteGraph } from './rewrite-graph.ts';
import type { WireField, WireReader } from './wire-reader.ts';
import { type Chunks, delimitedField, joinChunks, numberField, textField } from './wire-writer.ts';

const irVersion = 8;
const opset = 13;

export interface SeparatedDefaults {
  /** The same model, in which these inputs have no default value. */
  readonly model: Uint8Array;
  /**
   * A model without inputs whose outputs are the default values, in the order and with the names requested: running it
   * reads a value in whatever way it is stored.
   */
  readonly defaults: Uint8Array;
}

/** Rejects with `OnnxFileError` when one of the names is not that of a graph input with a dense initializer. */
export async function separateDefaults(bytes: Uint8Array, names: readonly string[]): Promise<SeparatedDefaults> {
  const wanted = new Set(names);
  const initializers = new Map<string, Chunks>();
  const types = new Map<string, Chunks>();
  const chunks = await rewriteGraph(bytes, async (reader, field) => {
    if (!field.isDelimited) return undefined;
    if (field.number === graphFields.input) {
      const { name } = await readValueInfo(reader, field);
      if (wanted.has(name)) types.set(name, await typeField(reader, field, bytes));
      return undefined;
    }
    if (field.number !== graphFields.initializer) return undefined;
    const { name } = await readInitializer(reader, field);
    if (!wanted.has(name)) return undefined;
    initializers.set(
      name,
      delimitedField(graphFields.initializer, renamed(await nameless(reader, field, bytes), name)),
    );
    return [];
  });
  for (const name of names) {
    if (initializers.has(name) && types.has(name)) continue;
    throw new OnnxFileError(`the graph has no input ${JSON.stringify(name)} with a default value`);
  }
  return { model: joinChunks(chunks), defaults: defaultsModel(names, initializers, types) };
}

function defaultsModel(
  names: readonly string[],
  initializers: ReadonlyMap<string, Chunks>,
  types: ReadonlyMap<string, Chunks>,
): Uint8Array {
  const graph = [
    ...names.flatMap((name) => [
      ...delimitedField(graphFields.node, [
        ...textField(1, storedName(name)),
        ...textField(2, name),
        ...textField(4, 'Identity'),
      ]),
      ...(initializers.get(name) ?? []),
      ...delimitedField(graphFields.output, [...textField(1, name), ...(types.get(name) ?? [])]),
    ]),
    ...textField(2, 'defaults'),
  ];
  return joinChunks([
    ...numberField(1, irVersion),
    ...delimitedField(modelFields.graph, graph),
    ...delimitedField(modelFields.opsetImport, [...textField(1, ''), ...numberField(2, opset)]),
  ]);
}

const storedName = (name: string): string => `stored ${name}`;

function renamed(tensor: Chunks, name: string): Chunks {
  return [...tensor, ...textField(8, storedName(name))];
}

/** The content of an initializer without its name. */
async function nameless(reader: WireReader, holder: WireField, bytes: Uint8Array): Promise<Chunks> {
  const chunks: Uint8Array[] = [];
  let fieldStart = holder.start;
  await reader.forEachField(holder.start, holder.end, (field) => {
    if (field.number !== 8) chunks.push(bytes.subarray(fieldStart, field.end));
    fieldStart = field.end;
    return undefined;
  });
  return chunks;
}

async function typeField(reader: WireReader, holder: WireField, bytes: Uint8Array): Promise<Chunks> {
  const chunks: Uint8Array[] = [];
  await forEachDelimited(reader, holder, async (field) => {
    if (field.number === 2) chunks.push(...delimitedField(2, [bytes.subarray(field.start, field.end)]));
  });
  return chunks;
}
