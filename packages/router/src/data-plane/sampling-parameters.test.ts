import { encodeBytesElements, type Tensor, takeBytesElements } from '@millrace/protocol';
import { expect, test } from 'vitest';
import { samplingParametersBytesMax, withSamplingParameters } from './sampling-parameters.ts';

function input(name: string, text: string): Tensor {
  return { name, datatype: 'BYTES', shape: [1], data: encodeBytesElements([text]) };
}

function textsOf(tensors: readonly Tensor[]): readonly string[] {
  return tensors.map(({ name, data }) => `${name} ${Buffer.from(takeBytesElements(data)?.[0] ?? [])}`);
}

const text = input('text_input', 'Once');

test('parameters become an input of their own', () => {
  expect(textsOf(withSamplingParameters([text], { seed: 2n ** 60n, stop: ['.'] }))).toEqual([
    'text_input Once',
    'sampling_parameters {"seed":1152921504606846976,"stop":["."]}',
  ]);
});

test('without parameters nothing is added', () => {
  expect(textsOf(withSamplingParameters([text], {}))).toEqual(['text_input Once']);
});

test('what the caller sent as the input counts more', () => {
  const own = input('sampling_parameters', '{"seed": 1, "top_k": 3}');
  expect(textsOf(withSamplingParameters([own, text], { seed: 9, max_tokens: 4 }))).toEqual([
    'text_input Once',
    'sampling_parameters {"seed":1,"max_tokens":4,"top_k":3}',
  ]);
});

test.each(['warm', '[1]', ''])('an input that is no object (%j) is left to the generator', (given) => {
  const inputs = [text, input('sampling_parameters', given)];
  expect(withSamplingParameters(inputs, { seed: 9 })).toBe(inputs);
});

test('an input above samplingParametersBytesMax is refused before it is read, with and without parameters', () => {
  const large = input('sampling_parameters', ' '.repeat(samplingParametersBytesMax));
  for (const parameters of [{}, { seed: 9 }]) {
    expect(() => withSamplingParameters([text, large], parameters)).toThrow(/16388 bytes, more than the 16384 allowed/);
  }
});
