/** Reads a model file with its nodes, attributes, subgraphs, functions and small tensors; weights are skipped. */
import type { ByteSource } from '../byte-source.ts';
import { OnnxFileError } from '../onnx-file-error.ts';
import type { OnnxTensor } from '../onnx-graph.ts';
import { nameBytesMax, readValueInfo } from '../read-value-info.ts';
import { type WireField, WireReader } from '../wire-reader.ts';
import { type GraphLimits, graphLimits } from './graph-limits.ts';
import {
  type AttributeValue,
  type FunctionProto,
  functionKey,
  type GraphProto,
  type ModelProto,
  type NodeProto,
  type StoredTensor,
} from './model-proto.ts';
import { numbersFrom, safeInteger } from './packed-numbers.ts';
import { readStoredTensor } from './read-tensor.ts';

/** Most bytes of a number or text, or of a packed list of them. */
const attributeBytesMax = 4 * 1024 * 1024;
/** Elements kept of a list. Trees have millions, which do not matter for the rows. */
const listElementsMax = 4096;

/** Throws `OnnxFileError` also for a graph over its limits. */
export async function readModelProto(source: ByteSource, limits: GraphLimits = graphLimits): Promise<ModelProto> {
  return new ModelProtoReader(new WireReader(source), limits).read();
}

class ModelProtoReader {
  readonly #reader: WireReader;
  readonly #limits: GraphLimits;
  #nodes = 0;
  #bytes = 0;

  constructor(reader: WireReader, limits: GraphLimits) {
    this.#reader = reader;
    this.#limits = limits;
  }

  async read(): Promise<ModelProto> {
    const opsets = new Map<string, number>();
    const functions = new Map<string, FunctionProto>();
    let graph: GraphProto | undefined;
    await this.#reader.forEachField(0, this.#reader.sizeBytes, (field) => {
      if (!field.isDelimited) return undefined;
      if (field.number === 7) {
        if (graph !== undefined) throw new OnnxFileError('the file contains two graphs');
        return this.#readGraph(field, 1).then((read) => {
          graph = read;
        });
      }
      if (field.number === 8) return this.#readOpset(field, opsets);
      if (field.number === 25) return this.#readFunction(field, functions);
      return undefined;
    });
    if (graph === undefined) throw new OnnxFileError('the file contains no graph; is it an ONNX model?');
    return { opsets, graph, functions };
  }

  async #readGraph(holder: WireField, depth: number): Promise<GraphProto> {
    if (depth > this.#limits.depthMax) {
      throw new OnnxFileError(`the graph has subgraphs more than ${this.#limits.depthMax} deep`);
    }
    const nodes: NodeProto[] = [];
    const inputs: OnnxTensor[] = [];
    const outputs: OnnxTensor[] = [];
    const initializers = new Map<string, StoredTensor>();
    await this.#reader.forEachField(holder.start, holder.end, (field) => {
      if (!field.isDelimited) return undefined;
      switch (field.number) {
        case 1:
          return this.#readNode(field, depth, nodes);
        case 5:
          return this.#readInitializer(field, initializers);
        case 15:
          throw new OnnxFileError('sparse initializers are not supported by the analysis');
        case 11:
          return this.#readValue(field, inputs);
        case 12:
          return this.#readValue(field, outputs);
        default:
          return undefined;
      }
    });
    return { nodes, inputs, outputs, initializers };
  }

  async #readValue(field: WireField, values: OnnxTensor[]): Promise<void> {
    this.#keep(field);
    values.push(await readValueInfo(this.#reader, field));
  }

  async #readInitializer(field: WireField, initializers: Map<string, StoredTensor>): Promise<void> {
    const tensor = await readStoredTensor(this.#reader, field, this.#limits.valuesMax);
    this.#count(tensor.name.length + 8 * (tensor.values?.length ?? 0));
    initializers.set(tensor.name, tensor);
  }

  async #readNode(holder: WireField, depth: number, nodes: NodeProto[]): Promise<void> {
    this.#nodes += 1;
    if (this.#nodes > this.#limits.nodesMax) {
      throw new OnnxFileError(`the graph has more than ${this.#limits.nodesMax} nodes`);
    }
    let operator = '';
    let domain = '';
    let name = '';
    const inputs: string[] = [];
    const outputs: string[] = [];
    const attributes = new Map<string, AttributeValue>();
    await this.#reader.forEachField(holder.start, holder.end, (field) => {
      if (!field.isDelimited) return undefined;
      switch (field.number) {
        case 1:
          return this.#text(field).then((read) => void inputs.push(read));
        case 2:
          return this.#text(field).then((read) => void outputs.push(read));
        case 3:
          return this.#text(field).then((read) => {
            name = read;
          });
        case 4:
          return this.#text(field).then((read) => {
            operator = read;
          });
        case 5:
          return this.#readAttribute(field, depth, attributes);
        case 7:
          return this.#text(field).then((read) => {
            domain = standardName(read);
          });
        default:
          return undefined;
      }
    });
    nodes.push({ operator, domain, name, inputs, outputs, attributes });
  }

  async #readAttribute(holder: WireField, depth: number, attributes: Map<string, AttributeValue>): Promise<void> {
    let name = '';
    let value: AttributeValue = { kind: 'other' };
    const integers: number[] = [];
    const floats: number[] = [];
    const texts: string[] = [];
    let type = 0;
    let isTooLong = false;
    const hasRoom = (list: readonly unknown[]): boolean => {
      isTooLong ||= list.length >= listElementsMax;
      return !isTooLong;
    };
    await this.#reader.forEachField(holder.start, holder.end, (field) => {
      if (!field.isDelimited) {
        if (field.number === 3) value = { kind: 'integer', value: safeInteger(BigInt.asIntN(64, field.value)) };
        else if (field.number === 20) type = Number(field.value);
        else if (field.number === 8) {
          if (hasRoom(integers)) integers.push(safeInteger(BigInt.asIntN(64, field.value)));
        } else if (field.number === 2) {
          return this.#floatAt(field).then((read) => {
            value = { kind: 'float', value: read };
          });
        } else if (field.number === 7 && hasRoom(floats)) {
          return this.#floatAt(field).then((read) => void floats.push(read));
        }
        return undefined;
      }
      switch (field.number) {
        case 1:
          return this.#text(field).then((read) => {
            name = read;
          });
        case 4:
          return this.#longText(field).then((read) => {
            value = { kind: 'text', value: read };
          });
        case 5:
          mustBeFirst(value);
          return readStoredTensor(this.#reader, field, this.#limits.valuesMax).then((read) => {
            this.#count(8 * this.#limits.valuesMax);
            value = { kind: 'tensor', value: read };
          });
        case 6:
          mustBeFirst(value);
          return this.#readGraph(field, depth + 1).then((read) => {
            value = { kind: 'graph', value: read };
          });
        case 7:
          return this.#numbers(field, 'float').then((read) => pushAll(floats, read));
        case 8:
          return this.#numbers(field, 'varint').then((read) => pushAll(integers, read));
        case 9:
          return hasRoom(texts) ? this.#longText(field).then((read) => void texts.push(read)) : undefined;
        case 21:
          return this.#text(field).then((read) => {
            value = { kind: 'reference', value: read };
          });
        default:
          return undefined;
      }
    });
    if (isTooLong) value = { kind: 'other' };
    else if (integers.length > 0 || type === 7) value = { kind: 'integers', value: integers };
    else if (floats.length > 0 || type === 6) value = { kind: 'floats', value: floats };
    else if (texts.length > 0 || type === 8) value = { kind: 'texts', value: texts };
    // Zero, as protobuf writers may leave it out.
    else if (value.kind === 'other' && type === 2) value = { kind: 'integer', value: 0 };
    else if (value.kind === 'other' && type === 1) value = { kind: 'float', value: 0 };
    else if (value.kind === 'other' && type === 3) value = { kind: 'text', value: '' };
    this.#count(8 * (integers.length + floats.length));
    attributes.set(name, value);
  }

  async #readFunction(holder: WireField, functions: Map<string, FunctionProto>): Promise<void> {
    let name = '';
    let domain = '';
    let overload = '';
    const inputs: string[] = [];
    const outputs: string[] = [];
    const nodes: NodeProto[] = [];
    const opsets = new Map<string, number>();
    const defaults = new Map<string, AttributeValue>();
    await this.#reader.forEachField(holder.start, holder.end, (field) => {
      if (!field.isDelimited) return undefined;
      switch (field.number) {
        case 1:
          return this.#text(field).then((read) => {
            name = read;
          });
        case 4:
          return this.#text(field).then((read) => void inputs.push(read));
        case 5:
          return this.#text(field).then((read) => void outputs.push(read));
        case 7:
          return this.#readNode(field, 1, nodes);
        case 9:
          return this.#readOpset(field, opsets);
        case 10:
          return this.#text(field).then((read) => {
            domain = standardName(read);
          });
        case 11:
          return this.#readAttribute(field, 1, defaults);
        case 13:
          return this.#text(field).then((read) => {
            overload = read;
          });
        default:
          return undefined;
      }
    });
    // Calls name an overload in a separate field; functions with overloads are not distinguished here.
    const key = functionKey(domain, name);
    if (overload !== '' || functions.has(key))
      functions.set(key, { inputs, outputs, nodes: [unreadable], opsets, defaults });
    else functions.set(key, { inputs, outputs, nodes, opsets, defaults });
  }

  async #readOpset(holder: WireField, opsets: Map<string, number>): Promise<void> {
    let domain = '';
    let version = 0;
    await this.#reader.forEachField(holder.start, holder.end, (field) => {
      if (field.number === 2 && !field.isDelimited) version = Number(BigInt.asIntN(64, field.value));
      if (field.number !== 1 || !field.isDelimited) return undefined;
      return this.#text(field).then((read) => {
        domain = standardName(read);
      });
    });
    opsets.set(domain, version);
  }

  async #floatAt(field: WireField): Promise<number> {
    const bytes = await this.#reader.readBytes({ ...field, isDelimited: true }, 8, 'a number');
    return numbersFrom(bytes, bytes.length === 4 ? 'float' : 'double')[0] ?? 0;
  }

  async #numbers(field: WireField, kind: 'float' | 'varint'): Promise<readonly number[]> {
    this.#keep(field);
    return numbersFrom(await this.#reader.readBytes(field, attributeBytesMax, 'an attribute'), kind);
  }

  async #text(field: WireField): Promise<string> {
    this.#keep(field);
    return this.#reader.readString(field, nameBytesMax, 'a name');
  }

  async #longText(field: WireField): Promise<string> {
    this.#keep(field);
    return this.#reader.readString(field, attributeBytesMax, 'an attribute');
  }

  #keep(field: WireField): void {
    this.#count(field.end - field.start);
  }

  #count(bytes: number): void {
    // A name costs memory beside its characters.
    this.#bytes += bytes + 32;
    if (this.#bytes > this.#limits.bytesMax) {
      throw new OnnxFileError(`the graph without its weights has more than ${this.#limits.bytesMax} bytes`);
    }
  }
}

/** Stands for a body that was not read: no operator has an empty name. */
const unreadable: NodeProto = { operator: '', domain: '', name: '', inputs: [], outputs: [], attributes: new Map() };

/** `ai.onnx` is the long name of the standard domain. */
function standardName(domain: string): string {
  return domain === 'ai.onnx' ? '' : domain;
}

/** Without the limit on the number of arguments. */
function pushAll(target: number[], values: readonly number[]): void {
  for (const value of values) target.push(value);
}

/** Parsers differ in how they join duplicate values. */
function mustBeFirst(value: AttributeValue): void {
  if (value.kind !== 'other') throw new OnnxFileError('an attribute has two values');
}
