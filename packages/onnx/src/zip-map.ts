/**
 * Classifiers that end in a ZipMap return a sequence of maps, which no tensor can represent: such nodes are found and
 * removed here.
 */
import { type ByteSource, byteSourceFromBytes } from './byte-source.ts';
import { withModelFile } from './model-file.ts';
import { OnnxFileError } from './onnx-file-error.ts';
import { nameBytesMax, readValueInfo } from './read-value-info.ts';
import { takeZipMap, type ZipMap } from './read-zip-map.ts';
import { graphFields, modelFields, rewriteGraph } from './rewrite-graph.ts';
import { type WireField, WireReader } from './wire-reader.ts';
import { delimitedField, joinChunks, numberField, textField } from './wire-writer.ts';

export type { ZipMap } from './read-zip-map.ts';

export const zipMapsMax = 256;
const elementTypeFloat = 1;
/**
 * Version of the standard operators for a model that imports none: old enough for every version of ONNX Runtime, new
 * enough to be tested.
 */
const standardOpset = 13;

/** The graph outputs of a model file that a ZipMap makes. Throws `OnnxFileError`, or the file system's error. */
export async function findZipMaps(path: string): Promise<readonly ZipMap[]> {
  return (await withModelFile(path, readZipMaps)).zipMaps;
}

/**
 * The same model with an Identity instead of every ZipMap that makes a graph output: the output keeps its name and
 * becomes the tensor of scores, one column for every label. The bytes themselves when there is none. Throws
 * `OnnxFileError`.
 */
export async function cutZipMaps(bytes: Uint8Array): Promise<Uint8Array> {
  const { zipMaps, hasStandardOperators } = await readZipMaps(byteSourceFromBytes(bytes));
  if (zipMaps.length === 0) return bytes;
  const cut = new Set(zipMaps.map(({ output }) => output));
  const chunks = await rewriteGraph(bytes, async (reader, field) => {
    if (!field.isDelimited) return undefined;
    if (field.number === graphFields.node) {
      const zipMap = await takeZipMap(reader, field);
      return zipMap !== undefined && cut.has(zipMap.output) ? identityNode(zipMap) : undefined;
    }
    if (field.number !== graphFields.output) return undefined;
    const { name } = await readValueInfo(reader, field);
    return cut.has(name) ? scoresOutput(name) : undefined;
  });
  if (!hasStandardOperators) chunks.push(...delimitedField(modelFields.opsetImport, opsetFields()));
  return joinChunks(chunks);
}

function identityNode({ scores, output }: ZipMap): Uint8Array[] {
  return delimitedField(graphFields.node, [
    ...textField(1, scores),
    ...textField(2, output),
    ...textField(4, 'Identity'),
  ]);
}

/** Without a shape: ONNX Runtime infers it from the scores, and refuses a declared one that differs. */
function scoresOutput(name: string): Uint8Array[] {
  const tensorType = numberField(1, elementTypeFloat);
  return delimitedField(graphFields.output, [
    ...textField(1, name),
    ...delimitedField(2, delimitedField(1, tensorType)),
  ]);
}

function opsetFields(): Uint8Array[] {
  return [...textField(1, ''), ...numberField(2, standardOpset)];
}

interface FoundZipMaps {
  readonly zipMaps: readonly ZipMap[];
  readonly hasStandardOperators: boolean;
}

async function readZipMaps(source: ByteSource): Promise<FoundZipMaps> {
  const reader = new WireReader(source);
  const found: ZipMap[] = [];
  const outputs = new Set<string>();
  let hasStandardOperators = false;
  const visitGraph = async (field: WireField): Promise<void> => {
    if (field.number === graphFields.output) outputs.add((await readValueInfo(reader, field)).name);
    if (field.number !== graphFields.node) return;
    const zipMap = await takeZipMap(reader, field);
    if (zipMap === undefined) return;
    if (found.length === zipMapsMax) throw new OnnxFileError(`the graph has more than ${zipMapsMax} ZipMap nodes`);
    found.push(zipMap);
  };
  await reader.forEachField(0, reader.sizeBytes, (field) => {
    if (!field.isDelimited) return undefined;
    if (field.number === modelFields.graph) {
      return reader.forEachField(field.start, field.end, (part) => (part.isDelimited ? visitGraph(part) : undefined));
    }
    if (field.number !== modelFields.opsetImport) return undefined;
    return isStandardDomain(reader, field).then((is) => {
      hasStandardOperators ||= is;
    });
  });
  return { zipMaps: found.filter(({ output }) => outputs.has(output)), hasStandardOperators };
}

async function isStandardDomain(reader: WireReader, opset: WireField): Promise<boolean> {
  let domain = '';
  await reader.forEachField(opset.start, opset.end, (field) => {
    if (field.number !== 1 || !field.isDelimited) return undefined;
    return reader.readString(field, nameBytesMax, 'an operator domain').then((text) => {
      domain = text;
    });
  });
  return domain === '' || domain === 'ai.onnx';
}
