/**
 * Decoders that are exported with their cache as tensors return the whole cache, old and new, after every run. What is new
 * are a few tokens; here a model is rewritten so that it returns only those, and does not copy the cache to attend to it.
 */
import { byteSourceFromBytes } from './byte-source.ts';
import { forEachDelimited, nameBytesMax, readValueInfo } from './read-value-info.ts';
import { graphFields, modelFields, rewriteGraph } from './rewrite-graph.ts';
import { planSplitAttention } from './split-attention.ts';
import { type WireField, WireReader } from './wire-reader.ts';
import { delimitedField, joinChunks, numberField, textField } from './wire-writer.ts';

/** A graph output that is a graph input followed by new values. */
export interface AppendedOutput {
  readonly output: string;
  readonly input: string;
  /** The tensor with the new values. */
  readonly appended: string;
}

export interface CutCaches {
  /** The model whose outputs are the appended tensors, in the places of the caches. */
  readonly model: Uint8Array;
  readonly outputs: readonly AppendedOutput[];
}

/**
 * The same model, but each graph output that is `Concat(a graph input, new values)` is replaced by the new values, and where only
 * attention reads the Concat it is left out. The bytes themselves when there is none. Throws `OnnxFileError`.
 */
export async function cutCacheOutputs(bytes: Uint8Array): Promise<CutCaches> {
  const outputs = await findAppendedOutputs(bytes);
  if (outputs.length === 0) return { model: bytes, outputs };
  const byOutput = new Map(outputs.map((one) => [one.output, one]));
  const replacements = await planSplitAttention(
    bytes,
    outputs.map(({ output, input, appended }) => ({ joined: output, past: input, added: appended })),
  );
  let nodes = 0;
  const chunks = await rewriteGraph(bytes, async (reader, field) => {
    if (!field.isDelimited) return undefined;
    if (field.number === graphFields.node) return replacements.get(nodes++);
    if (field.number !== graphFields.output) return undefined;
    const { name, elementType } = await readValueInfo(reader, field);
    const cut = byOutput.get(name);
    return cut === undefined ? undefined : outputOf(cut.appended, elementType);
  });
  return { model: joinChunks(chunks), outputs };
}

/** Without a shape: ONNX Runtime infers it. */
function outputOf(name: string, elementType: number): Uint8Array[] {
  const type = delimitedField(2, delimitedField(1, numberField(1, elementType)));
  return delimitedField(graphFields.output, [...textField(1, name), ...type]);
}

async function findAppendedOutputs(bytes: Uint8Array): Promise<readonly AppendedOutput[]> {
  const reader = new WireReader(byteSourceFromBytes(bytes));
  const inputs = new Set<string>();
  const outputs = new Set<string>();
  const joins: AppendedOutput[] = [];
  await forEachDelimited(reader, { start: 0, end: reader.sizeBytes }, async (field) => {
    if (field.number !== modelFields.graph) return;
    await forEachDelimited(reader, field, async (part) => {
      if (part.number === graphFields.input) inputs.add((await readValueInfo(reader, part)).name);
      if (part.number === graphFields.output) outputs.add((await readValueInfo(reader, part)).name);
      if (part.number !== graphFields.node) return;
      const join = await takeJoin(reader, part);
      if (join !== undefined) joins.push(join);
    });
  });
  // A tensor that is an output already cannot be listed a second time.
  return joins.filter(
    ({ input, output, appended }) =>
      inputs.has(input) && outputs.has(output) && !outputs.has(appended) && !inputs.has(appended),
  );
}

/** The node as a Concat of two tensors; undefined when it is something else. */
async function takeJoin(reader: WireReader, node: WireField): Promise<AppendedOutput | undefined> {
  const inputs: string[] = [];
  let output = '';
  let operator = '';
  await forEachDelimited(reader, node, async (field) => {
    if (field.number === 1) inputs.push(await reader.readString(field, nameBytesMax, 'an input of a node'));
    if (field.number === 2) output = await reader.readString(field, nameBytesMax, 'an output of a node');
    if (field.number === 4) operator = await reader.readString(field, nameBytesMax, 'the operator of a node');
  });
  const [input, appended] = inputs;
  if (operator !== 'Concat' || inputs.length !== 2 || input === undefined || appended === undefined) return undefined;
  return { output, input, appended };
}
