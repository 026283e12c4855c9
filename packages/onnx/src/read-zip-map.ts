import { OnnxFileError } from './onnx-file-error.ts';
import { forEachDelimited, nameBytesMax } from './read-value-info.ts';
import type { WireField, WireReader } from './wire-reader.ts';

export const zipMapLabelsMax = 1_000_000;
/** Bytes of all labels of one node together. */
export const zipMapLabelBytesMax = 16 * 1024 * 1024;

/**
 * A node that makes a map from label to score for every row: the last node of scikit-learn, LightGBM and XGBoost
 * classifiers.
 */
export interface ZipMap {
  /** The output that contains the maps. */
  readonly output: string;
  /** The tensor of scores that it reads, with a row for every row and a column for every label. */
  readonly scores: string;
  /** In the order of the columns. */
  readonly labels: readonly (string | bigint)[];
}

/** The node as a ZipMap; undefined when it is another operator. */
export async function takeZipMap(reader: WireReader, node: WireField): Promise<ZipMap | undefined> {
  if (!(await isZipMap(reader, node))) return undefined;
  let output = '';
  let scores = '';
  const labels = new Labels(reader);
  await forEachDelimited(reader, node, async (field) => {
    if (field.number === 1 && scores === '')
      scores = await reader.readString(field, nameBytesMax, 'an input of ZipMap');
    if (field.number === 2 && output === '')
      output = await reader.readString(field, nameBytesMax, 'an output of ZipMap');
    if (field.number === 5) await labels.readAttribute(field);
  });
  return { output, scores, labels: labels.all };
}

async function isZipMap(reader: WireReader, node: WireField): Promise<boolean> {
  let isOperator = false;
  let isDomain = false;
  await reader.forEachField(node.start, node.end, (field) => {
    if (!field.isDelimited) return undefined;
    if (field.number === 4) {
      return textIs(reader, field, 'ZipMap').then((is) => {
        isOperator = is;
      });
    }
    if (field.number === 7) {
      return textIs(reader, field, 'ai.onnx.ml').then((is) => {
        isDomain = is;
      });
    }
    return undefined;
  });
  return isOperator && isDomain;
}

async function textIs(reader: WireReader, field: WireField, text: string): Promise<boolean> {
  return field.end - field.start === text.length && (await reader.readString(field, text.length, 'a name')) === text;
}

const numberBytes = 8;

class Labels {
  readonly all: (string | bigint)[] = [];
  readonly #reader: WireReader;
  #bytes = 0;

  constructor(reader: WireReader) {
    this.#reader = reader;
  }

  async readAttribute(attribute: WireField): Promise<void> {
    let name = '';
    await forEachDelimited(this.#reader, attribute, async (field) => {
      if (field.number === 1) name = await this.#reader.readString(field, nameBytesMax, 'the name of an attribute');
    });
    if (name === 'classlabels_int64s') await this.#readNumbers(attribute);
    if (name === 'classlabels_strings') await this.#readTexts(attribute);
  }

  async #readTexts(attribute: WireField): Promise<void> {
    await forEachDelimited(this.#reader, attribute, async (field) => {
      if (field.number !== 9) return;
      this.#push(await this.#reader.readString(field, nameBytesMax, 'a class label'), field.end - field.start);
    });
  }

  /** One field for each number, or many packed into one: writers differ. */
  async #readNumbers(attribute: WireField): Promise<void> {
    await this.#reader.forEachField(attribute.start, attribute.end, (field) => {
      if (field.number !== 8) return undefined;
      if (field.isDelimited) return this.#readPacked(field);
      this.#push(BigInt.asIntN(64, field.value), numberBytes);
      return undefined;
    });
  }

  async #readPacked(field: WireField): Promise<void> {
    const bytes = await this.#reader.readBytes(field, zipMapLabelBytesMax, 'the class labels');
    let value = 0n;
    let shift = 0n;
    for (const byte of bytes) {
      if (shift > 63n) throw new OnnxFileError(`the class labels at byte ${field.start} are malformed`);
      value |= BigInt(byte & 0x7f) << shift;
      shift += 7n;
      if (byte >= 0x80) continue;
      this.#push(BigInt.asIntN(64, value), numberBytes);
      value = 0n;
      shift = 0n;
    }
    if (shift !== 0n) throw new OnnxFileError(`the class labels at byte ${field.start} are truncated`);
  }

  #push(label: string | bigint, bytes: number): void {
    this.#bytes += bytes;
    if (this.all.length === zipMapLabelsMax || this.#bytes > zipMapLabelBytesMax) {
      throw new OnnxFileError(
        `a ZipMap node has more than ${zipMapLabelsMax} class labels, or more than ${zipMapLabelBytesMax} bytes of them`,
      );
    }
    this.all.push(label);
  }
}
