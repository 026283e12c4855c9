import { byteSourceFromBytes } from './byte-source.ts';
import { type WireField, WireReader } from './wire-reader.ts';
import { type Chunks, delimitedField } from './wire-writer.ts';

export const modelFields = { graph: 7, opsetImport: 8 } as const;
export const graphFields = { node: 1, initializer: 5, input: 11, output: 12 } as const;

/** The replacement of a field of the graph; undefined: it stays as it is. */
export type RewriteField = (reader: WireReader, field: WireField) => Promise<Chunks | undefined>;

/**
 * The same model with some fields of its graph replaced. Everything else is kept as views of `bytes`, so that a large
 * model is copied once, when the chunks are joined. Throws `OnnxFileError` for bytes that are not a model.
 */
export async function rewriteGraph(bytes: Uint8Array, rewrite: RewriteField): Promise<Uint8Array[]> {
  const reader = new WireReader(byteSourceFromBytes(bytes));
  return rewriteFields(reader, bytes, { start: 0, end: bytes.length }, async (field) => {
    if (!field.isDelimited || field.number !== modelFields.graph) return undefined;
    const graph = await rewriteFields(reader, bytes, field, async (part) => rewrite(reader, part));
    return delimitedField(modelFields.graph, graph);
  });
}

async function rewriteFields(
  reader: WireReader,
  bytes: Uint8Array,
  holder: { readonly start: number; readonly end: number },
  rewrite: (field: WireField) => Promise<Chunks | undefined>,
): Promise<Uint8Array[]> {
  const chunks: Uint8Array[] = [];
  let keptFrom = holder.start;
  let fieldStart = holder.start;
  await reader.forEachField(holder.start, holder.end, async (field) => {
    const replacement = await rewrite(field);
    if (replacement !== undefined) {
      if (fieldStart > keptFrom) chunks.push(bytes.subarray(keptFrom, fieldStart));
      for (const chunk of replacement) chunks.push(chunk);
      keptFrom = field.end;
    }
    fieldStart = field.end;
  });
  if (holder.end > keptFrom) chunks.push(bytes.subarray(keptFrom, holder.end));
  return chunks;
}
