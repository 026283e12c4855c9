import type { ByteSource } from './byte-source.ts';
import { withModelFile } from './model-file.ts';
import { OnnxFileError } from './onnx-file-error.ts';
import type { OnnxGraph, OnnxTensor } from './onnx-graph.ts';
import { readEntry, readInitializer, readSparseInitializer } from './read-initializer.ts';
import { nameBytesMax, readValueInfo } from './read-value-info.ts';
import { type WireField, WireReader } from './wire-reader.ts';

export const tensorsMax = 4096;
export const initializersMax = 1_000_000;
const opsetsMax = 256;
const metadataEntriesMax = 1024;
/** Metadata over this size (some exporters store whole configurations) is omitted: serving does not need it. */
export const metadataBytesMax = 1024 * 1024;
const externalFilesMax = 4096;
/** Known to crash the process of ONNX Runtime 1.30 when they are given no rows. */
const emptyHazards: ReadonlySet<string> = new Set(['DynamicQuantizeLSTM', 'GRU', 'LSTM', 'QuickGelu', 'RNN', 'TopK']);
const convolutions: ReadonlySet<string> = new Set(['Conv', 'ConvTranspose', 'FusedConv', 'NhwcConv']);

/**
 * Reads what a `.onnx` file declares: versions, inputs, outputs, metadata, kinds of nodes. Weights are skipped, so a
 * file of many hundred megabytes costs a few kilobytes of memory. Throws `OnnxFileError`, or the file system's error.
 */
export function readOnnxFile(path: string): Promise<OnnxGraph> {
  return withModelFile(path, readOnnxGraph);
}

export async function readOnnxGraph(source: ByteSource): Promise<OnnxGraph> {
  if (source.sizeBytes === 0) throw new OnnxFileError('the file is empty');
  await refuseLargeFilePointer(source);
  return new GraphReader(source).read();
}

const pointerStart = 'version https://git-lfs';

/** The most common broken model: a checkout without its large files. */
async function refuseLargeFilePointer(source: ByteSource): Promise<void> {
  const head = new Uint8Array(pointerStart.length);
  await source.readAt(0, head);
  if (Buffer.from(head).toString('latin1') === pointerStart) {
    throw new OnnxFileError('the file is a Git LFS pointer, not the model itself; run git lfs pull');
  }
}

class GraphReader {
  readonly #reader: WireReader;
  #irVersion = 0;
  #producerName = '';
  #producerVersion = '';
  #graphName = '';
  #graphCount = 0;
  #metadataBytes = 0;
  #initializerCount = 0;
  readonly #opsets = new Map<string, number>();
  readonly #metadata = new Map<string, string>();
  readonly #inputs: OnnxTensor[] = [];
  readonly #outputs: OnnxTensor[] = [];
  readonly #initialized = new Set<string>();
  readonly #externalFiles = new Set<string>();
  #hasConvolutions: boolean = false;
  #emptyHazard: string | undefined;

  constructor(source: ByteSource) {
    this.#reader = new WireReader(source);
  }

  async read(): Promise<OnnxGraph> {
    await this.#reader.forEachField(0, this.#reader.sizeBytes, (field) => this.#visitModel(field));
    if (this.#graphCount === 0) throw new OnnxFileError('the file contains no graph; is it an ONNX model?');
    if (this.#irVersion <= 0) throw new OnnxFileError('the file does not state its IR version; is it an ONNX model?');
    if (this.#outputs.length === 0) throw new OnnxFileError('the graph has no outputs; export the model again');
    const inputs = this.#inputs.filter(({ name }) => !this.#initialized.has(name));
    return {
      irVersion: this.#irVersion,
      opsets: this.#opsets,
      producerName: this.#producerName,
      producerVersion: this.#producerVersion,
      graphName: this.#graphName,
      inputs,
      defaultedInputs: this.#inputs.filter(({ name }) => this.#initialized.has(name)),
      outputs: this.#outputs,
      metadata: this.#metadata,
      hasConvolutions: this.#hasConvolutions,
      emptyHazard: this.#emptyHazard,
      externalFiles: [...this.#externalFiles],
    };
  }

  #visitModel(field: WireField): Promise<void> | undefined {
    if (!field.isDelimited) {
      if (field.number === 1) this.#irVersion = Number(BigInt.asIntN(64, field.value));
      return undefined;
    }
    switch (field.number) {
      case 2:
        return this.#readText(field, 'the producer name', (text) => {
          this.#producerName = text;
        });
      case 3:
        return this.#readText(field, 'the producer version', (text) => {
          this.#producerVersion = text;
        });
      case 7:
        this.#graphCount += 1;
        return this.#reader.forEachField(field.start, field.end, (part) => this.#visitGraph(part));
      case 8:
        return this.#readOpset(field);
      case 14:
        return this.#readMetadata(field);
      case 25:
        return this.#readFunction(field);
      default:
        return undefined;
    }
  }

  #visitGraph(field: WireField): Promise<void> | undefined {
    if (!field.isDelimited) return undefined;
    switch (field.number) {
      case 1:
        return this.#readNode(field);
      case 2:
        return this.#readText(field, 'the graph name', (text) => {
          this.#graphName = text;
        });
      case 5:
      case 15:
        return this.#readInitializer(field);
      case 11:
        return this.#readTensor(field, this.#inputs, 'inputs');
      case 12:
        return this.#readTensor(field, this.#outputs, 'outputs');
      default:
        return undefined;
    }
  }

  #readFunction(field: WireField): Promise<void> {
    return this.#reader.forEachField(field.start, field.end, (part) =>
      part.number === 7 && part.isDelimited ? this.#readNode(part) : undefined,
    );
  }

  #readNode(field: WireField): Promise<void> | undefined {
    if (this.#hasConvolutions && this.#emptyHazard !== undefined) return undefined;
    return this.#reader.forEachField(field.start, field.end, (part) => {
      if (part.number !== 4 || !part.isDelimited) return undefined;
      return this.#readText(part, 'an operator', (operator) => {
        this.#hasConvolutions ||= convolutions.has(operator);
        if (emptyHazards.has(operator)) this.#emptyHazard ??= operator;
      });
    });
  }

  async #readText(field: WireField, what: string, take: (text: string) => void): Promise<void> {
    take(await this.#reader.readString(field, nameBytesMax, what));
  }

  async #readTensor(field: WireField, tensors: OnnxTensor[], what: string): Promise<void> {
    if (tensors.length === tensorsMax) throw new OnnxFileError(`the graph has more than ${tensorsMax} ${what}`);
    const tensor = await readValueInfo(this.#reader, field);
    if (tensors.some(({ name }) => name === tensor.name)) {
      throw new OnnxFileError(`the graph has two ${what} named ${JSON.stringify(tensor.name)}`);
    }
    tensors.push(tensor);
  }

  async #readInitializer(field: WireField): Promise<void> {
    this.#initializerCount += 1;
    if (this.#initializerCount > initializersMax) {
      throw new OnnxFileError(`the graph has more than ${initializersMax} initializers`);
    }
    const read = field.number === 5 ? readInitializer : readSparseInitializer;
    const { name, externalFile } = await read(this.#reader, field);
    this.#initialized.add(name);
    if (externalFile === undefined) return;
    this.#externalFiles.add(externalFile);
    if (this.#externalFiles.size > externalFilesMax) {
      throw new OnnxFileError(`the weights are spread over more than ${externalFilesMax} files`);
    }
  }

  async #readOpset(field: WireField): Promise<void> {
    let domain = '';
    let version = 0;
    await this.#reader.forEachField(field.start, field.end, (part) => {
      if (part.number === 2 && !part.isDelimited) version = Number(BigInt.asIntN(64, part.value));
      if (part.number !== 1 || !part.isDelimited) return undefined;
      return this.#readText(part, 'an operator domain', (text) => {
        domain = text;
      });
    });
    // `ai.onnx` is the long name of the standard domain.
    this.#opsets.set(domain === 'ai.onnx' ? '' : domain, version);
    if (this.#opsets.size > opsetsMax)
      throw new OnnxFileError(`the model imports more than ${opsetsMax} operator sets`);
  }

  async #readMetadata(field: WireField): Promise<void> {
    this.#metadataBytes += field.end - field.start;
    if (this.#metadataBytes > metadataBytesMax || this.#metadata.size === metadataEntriesMax) return;
    const [key, value] = await readEntry(this.#reader, field, metadataBytesMax);
    this.#metadata.set(key, value);
  }
}
