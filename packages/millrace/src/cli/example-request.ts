/**
 * A request that a person can paste: valid JSON for a small model that is ready, made from its inputs. Preferred is a model that
 * takes text, which everyone can read and change, and one that does not return its inputs unchanged.
 */
import type { Datatype, TensorSpec } from '@millrace/protocol';
import type { ServedModelStatus } from '../running-server.ts';

/** A request with more numbers than this is too long to paste. */
const exampleElementsMax = 128;

const exampleValues: Readonly<Partial<Record<Datatype, unknown>>> = {
  BOOL: true,
  BYTES: 'hello',
  FP32: 0.5,
  FP64: 0.5,
};

/** Names that people give to inputs of text; other BYTES may as well be files. */
const textNames: ReadonlySet<string> = new Set(['text', 'texts', 'prompt', 'query', 'question', 'sentence']);
const exampleText = 'What a wonderful day!';
/** For a generator, which goes on with it. */
const exampleOpening = 'Once upon a time';

/** What JSON cannot carry to every server. */
const binaryOnly: ReadonlySet<Datatype> = new Set(['FP16', 'BF16']);

/** Free dimensions are one. */
function exampleShape(spec: TensorSpec): number[] {
  return spec.shape.map((dimension) => (dimension < 0 ? 1 : dimension));
}

function elementsOf(model: ServedModelStatus): number {
  let count = 0;
  for (const input of neededInputs(model)) count += exampleShape(input).reduce((product, size) => product * size, 1);
  return count;
}

function neededInputs(model: ServedModelStatus): readonly TensorSpec[] {
  return model.inputs.filter((input) => input.isOptional !== true);
}

function isEcho({ inputs, outputs }: ServedModelStatus): boolean {
  const form = ({ datatype, shape }: TensorSpec): string => `${datatype}[${shape.join(',')}]`;
  return inputs.length === 1 && outputs.length === 1 && inputs.map(form).join() === outputs.map(form).join();
}

function isText({ name, datatype }: TensorSpec): boolean {
  return datatype === 'BYTES' && textNames.has(name);
}

function isGenerator({ inputs, outputs }: ServedModelStatus): boolean {
  return inputs.some(({ name }) => name === 'text_input') && outputs.some(({ name }) => name === 'text_output');
}

function hasNumbers(model: ServedModelStatus): boolean {
  return neededInputs(model).some(({ datatype }) => datatype !== 'BYTES');
}

/** A command line that sends one request to the server, or undefined when no model is ready. */
export function exampleCommand(httpUrl: string, models: readonly ServedModelStatus[]): string | undefined {
  const ready = models.filter((model) => model.state === 'ready' && model.inputs.length > 0);
  const bySize = ready.toSorted((left, right) => elementsOf(left) - elementsOf(right));
  const pasteable = bySize.filter(
    (model) =>
      elementsOf(model) <= exampleElementsMax && neededInputs(model).every((input) => !binaryOnly.has(input.datatype)),
  );
  const telling = pasteable.filter((model) => !isEcho(model));
  // A model with only BYTES inputs often takes a file, and a text on the command line is not a valid one.
  const takesText = telling.find((model) => neededInputs(model).every(isText));
  const generator = takesText === undefined ? telling.find(isGenerator) : undefined;
  if (generator !== undefined) {
    const url = `${httpUrl}/v2/models/${encodeURIComponent(generator.name)}/generate`;
    return `curl -s ${shellQuoted(url)} -d ${shellQuoted(JSON.stringify({ text_input: exampleOpening }))}`;
  }
  const small = takesText ?? telling.find(hasNumbers) ?? telling[0] ?? pasteable[0];
  if (small !== undefined) {
    const url = `${httpUrl}/v2/models/${encodeURIComponent(small.name)}/infer`;
    return `curl -s ${shellQuoted(url)} -d ${shellQuoted(JSON.stringify(exampleBody(small)))}`;
  }
  const first = bySize[0];
  if (first === undefined) return undefined;
  return `millrace infer ${shellQuoted(first.name)} --url ${shellQuoted(httpUrl)} --random --binary`;
}

function exampleBody(model: ServedModelStatus): unknown {
  return {
    inputs: neededInputs(model).map((input) => {
      const shape = exampleShape(input);
      const length = shape.reduce((product, size) => product * size, 1);
      const value = isText(input) ? exampleText : (exampleValues[input.datatype] ?? 1);
      const data = new Array<unknown>(length).fill(value);
      return { name: input.name, shape, datatype: input.datatype, data };
    }),
  };
}

export function shellQuoted(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
