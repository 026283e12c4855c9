import { expect, test } from 'vitest';
import { byteSourceFromBytes } from './byte-source.ts';
import { separateDefaults } from './default-inputs.ts';
import { OnnxFileError } from './onnx-file-error.ts';
import { readOnnxGraph } from './read-onnx-graph.ts';
import { field, modelBytes, tensorInfo } from './testing/model-bytes.ts';

const graphOf = (bytes: Uint8Array) => readOnnxGraph(byteSourceFromBytes(bytes));
const initializer = (name: string) =>
  field(5, [field(1, 2), field(2, 1), field(8, name), field(9, new Uint8Array(8).fill(3))]);

const model = modelBytes({
  inputs: [tensorInfo('x', 1, ['batch', 4]), tensorInfo('a', 1, [2]), tensorInfo('b', 1, [2])],
  graphFields: [initializer('a'), initializer('weights'), initializer('b')],
});

test('the model is the same but that the named inputs have no value', async () => {
  const before = await graphOf(model);
  const separated = await separateDefaults(model, ['b']);
  const after = await graphOf(separated.model);
  expect(after.inputs.map(({ name }) => name)).toEqual(['x', 'b']);
  expect(after.defaultedInputs.map(({ name }) => name)).toEqual(['a']);
  expect({ ...after, inputs: [], defaultedInputs: [] }).toEqual({ ...before, inputs: [], defaultedInputs: [] });
  expect(separated.model.length).toBe(model.length - initializer('b').length);
});

test('the values are the outputs of a model of their own, in the order asked for', async () => {
  const { defaults } = await separateDefaults(model, ['b', 'a']);
  const graph = await graphOf(defaults);
  expect(graph.inputs).toEqual([]);
  expect(graph.outputs).toEqual([
    { name: 'b', kind: 'tensor', elementType: 1, shape: [2] },
    { name: 'a', kind: 'tensor', elementType: 1, shape: [2] },
  ]);
});

test.each(['x', 'weights', 'nothing'])('"%s" is no input with a default value', async (name) => {
  await expect(separateDefaults(model, [name])).rejects.toThrow(
    `the graph has no input "${name}" with a default value`,
  );
});

test('a file that is cut short is refused, or is a shorter model', async () => {
  for (let length = 0; length < model.length; length += 1) {
    const result = await separateDefaults(model.subarray(0, length), ['a']).catch((error: unknown) => error);
    if (result instanceof Error) expect(result).toBeInstanceOf(OnnxFileError);
  }
});
