/**
 * Whether a model contains texts that are not UTF-8: an engine with strings where ONNX has bytes cannot return them
 * unchanged.
 */
import { isUtf8 } from 'node:buffer';
import { withModelFile } from './model-file.ts';
import { graphFields, modelFields } from './rewrite-graph.ts';
import { type WireField, WireReader } from './wire-reader.ts';

/** A longer one counts as invalid: it is binary data, not a text. */
export const checkedTextBytesMax = 1024 * 1024;
/** Deeper subgraphs count as containing such texts. */
export const textDepthMax = 32;

const functionField = 25;
const functionNodeField = 7;
const nodeAttributeField = 5;
const stringDataField = 6;
const attributeFields = { text: 4, tensor: 5, graph: 6, texts: 9, tensors: 10, graphs: 11 } as const;

/** Rejects with `OnnxFileError`, or the file system's error. Weights are skipped. */
export function hasInvalidText(path: string): Promise<boolean> {
  return withModelFile(path, (source) => new TextSearch(new WireReader(source)).run());
}

class TextSearch {
  readonly #reader: WireReader;
  #isFound: boolean = false;

  constructor(reader: WireReader) {
    this.#reader = reader;
  }

  async run(): Promise<boolean> {
    await this.#forEach({ start: 0, end: this.#reader.sizeBytes }, (field) => {
      if (field.number === modelFields.graph) return this.#visitGraph(field, 0);
      if (field.number !== functionField) return undefined;
      return this.#forEach(field, (node) => (node.number === functionNodeField ? this.#visitNode(node, 0) : undefined));
    });
    return this.#isFound;
  }

  #forEach(
    holder: Pick<WireField, 'start' | 'end'>,
    visit: (field: WireField) => Promise<void> | undefined,
  ): Promise<void> {
    return this.#reader.forEachField(holder.start, holder.end, (field) =>
      field.isDelimited && !this.#isFound ? visit(field) : undefined,
    );
  }

  async #visitGraph(graph: WireField, depth: number): Promise<void> {
    if (depth === textDepthMax) {
      this.#isFound = true;
      return;
    }
    await this.#forEach(graph, (field) => {
      if (field.number === graphFields.node) return this.#visitNode(field, depth);
      return field.number === graphFields.initializer ? this.#visitTensor(field) : undefined;
    });
  }

  #visitNode(node: WireField, depth: number): Promise<void> {
    return this.#forEach(node, (field) => {
      if (field.number !== nodeAttributeField) return undefined;
      return this.#forEach(field, (part) => this.#visitAttributePart(part, depth));
    });
  }

  #visitAttributePart(part: WireField, depth: number): Promise<void> | undefined {
    switch (part.number) {
      case attributeFields.text:
      case attributeFields.texts:
        return this.#visitText(part);
      case attributeFields.tensor:
      case attributeFields.tensors:
        return this.#visitTensor(part);
      case attributeFields.graph:
      case attributeFields.graphs:
        return this.#visitGraph(part, depth + 1);
      default:
        return undefined;
    }
  }

  #visitTensor(tensor: WireField): Promise<void> {
    return this.#forEach(tensor, (field) => (field.number === stringDataField ? this.#visitText(field) : undefined));
  }

  async #visitText(field: WireField): Promise<void> {
    const isText =
      field.end - field.start <= checkedTextBytesMax &&
      isUtf8(await this.#reader.readBytes(field, checkedTextBytesMax, 'a text'));
    if (!isText) this.#isFound = true;
  }
}
