/** How the parameters of a request or a stream reach a generator: as its input `sampling_parameters`, a JSON object. */
import {
  encodeBytesElements,
  InferenceError,
  type JsonObject,
  parseJson,
  stringifyJson,
  type Tensor,
  takeBytesElements,
} from '@millrace/protocol';

const inputName = 'sampling_parameters';
/** The JSON is read at once, here and by the worker. */
export const samplingParametersBytesMax = 16 * 1024;

/**
 * Where an input with that name is given too, its values count more. One that cannot be read stays: the generator refuses it.
 * Throws `request-too-large` for one that is too large to be read.
 */
export function withSamplingParameters(inputs: readonly Tensor[], parameters: JsonObject): readonly Tensor[] {
  const own = inputs.find(({ name }) => name === inputName);
  const bytes = own?.data.byteLength ?? 0;
  if (bytes > samplingParametersBytesMax) {
    throw new InferenceError(
      'request-too-large',
      `input ${inputName} has ${bytes} bytes, more than the ${samplingParametersBytesMax} allowed; send fewer parameters`,
    );
  }
  if (Object.keys(parameters).length === 0) return inputs;
  const given = own === undefined ? {} : takeObject(own.data);
  if (given === undefined) return inputs;
  const data = encodeBytesElements([stringifyJson({ ...parameters, ...given })]);
  const tensor: Tensor = { name: inputName, datatype: 'BYTES', shape: own?.shape ?? [1], data };
  return [...inputs.filter((input) => input !== own), tensor];
}

function takeObject(data: Uint8Array): JsonObject | undefined {
  const elements = takeBytesElements(data);
  const [element] = elements ?? [];
  if (element === undefined || elements?.length !== 1) return undefined;
  try {
    const value = parseJson(element);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
