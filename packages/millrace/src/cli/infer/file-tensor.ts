/** An input whose bytes come from a file: `--input image=@cat.png`. */
import { datatypes, elementCount, encodeBytesElements, type Tensor, type TensorSpec } from '@millrace/protocol';
import { CommandFailure } from '../command-failure.ts';
import { tensorText } from '../start-screen.ts';

export interface InputFile {
  readonly path: string;
  readonly bytes: Uint8Array;
}

/** A BYTES input takes the file as its only element; any other takes it as its elements, little-endian. */
export function tensorFromFile(spec: TensorSpec, file: InputFile, wantedShape: readonly number[] | undefined): Tensor {
  const { name, datatype } = spec;
  if (datatype === 'BYTES') {
    const shape = wantedShape ?? spec.shape.map((size) => (size < 0 ? 1 : size));
    if (elementCount(shape) !== 1) {
      throw new CommandFailure(
        `input ${tensorText(spec)} takes ${elementCount(shape)} elements, but ${file.path} is one; give a --shape ${name}=N,N of one element`,
      );
    }
    return { name, datatype, shape, data: encodeBytesElements([file.bytes]) };
  }
  return { name, datatype, shape: shapeOf(spec, file, wantedShape), data: file.bytes };
}

function shapeOf(spec: TensorSpec, file: InputFile, wantedShape: readonly number[] | undefined): readonly number[] {
  const elementBytes = datatypes[spec.datatype].bytes as number;
  const shape = wantedShape ?? spec.shape;
  const free = shape.filter((size) => size < 0).length;
  const knownBytes = shape.filter((size) => size >= 0).reduce((product, size) => product * size, elementBytes);
  const { length } = file.bytes;
  const hint = 'a file holds the elements of the tensor themselves: decode an image first, or serve a model that does';
  if (free === 0) {
    if (length === knownBytes) return shape;
    throw new CommandFailure(
      `${file.path} has ${length} bytes, but input ${tensorText({ ...spec, shape })} takes ${knownBytes}; ${hint}`,
    );
  }
  // Of several free sizes the first is usually that of the batch.
  const ones = shape.map((size, axis) => (size < 0 && free > 1 && axis === 0 ? 1 : size));
  if (free > 1 && (free > 2 || ones[0] !== 1)) {
    throw new CommandFailure(
      `input ${tensorText(spec)} has ${free} free sizes, which ${file.path} does not determine; give them with --shape ${spec.name}=N,N`,
    );
  }
  if (knownBytes === 0 || length % knownBytes !== 0) {
    throw new CommandFailure(
      `${file.path} has ${length} bytes, but input ${tensorText(spec)} takes a multiple of ${knownBytes}; ${hint}`,
    );
  }
  return ones.map((size) => (size < 0 ? length / knownBytes : size));
}
