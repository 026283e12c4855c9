import { InferenceError, type JsonReader, quote } from '@millrace/protocol';
import { binaryForm, jsonForm, type OutputForm } from '../classification/answer-form.ts';
import { readParameters, refuseSharedMemory, takeBoolean, takeNatural } from './parameters.ts';

export interface OutputLimits {
  readonly outputsMax: number;
  readonly nameBytesMax: number;
}

/** Reads the `outputs` of a request: which are wanted, and in which form. */
export function readOutputs(reader: JsonReader, limits: OutputLimits): Map<string, OutputForm> {
  const outputs = new Map<string, OutputForm>();
  reader.beginArray();
  while (reader.nextElement()) {
    if (outputs.size === limits.outputsMax) {
      throw new InferenceError(
        'request-too-large',
        `the request names more than ${limits.outputsMax} outputs; name fewer`,
      );
    }
    const [name, form] = readOutput(reader, outputs.size, limits);
    if (outputs.has(name))
      throw new InferenceError('invalid-request', `output ${quote(name)} already exists in request`);
    outputs.set(name, form);
  }
  return outputs;
}

function readOutput(
  reader: JsonReader,
  index: number,
  limits: OutputLimits,
): readonly [name: string, form: OutputForm] {
  let name: string | undefined;
  let form = jsonForm;
  reader.beginObject();
  for (let key = reader.nextKey(); key !== undefined; key = reader.nextKey()) {
    if (key === 'name') name = reader.readString(limits.nameBytesMax, 'the name of an output');
    else if (key === 'parameters') {
      const what = `output ${quote(name ?? `#${index}`)}`;
      const parameters = readParameters(reader, `${what}: `);
      refuseSharedMemory(parameters, what);
      const isBinary = takeBoolean(parameters, 'binary_data', `${what}: `) ?? false;
      const classes = takeNatural(parameters, 'classification', 1, `${what}: `) ?? 0;
      form = classes > 0 ? { isBinary, classes } : isBinary ? binaryForm : jsonForm;
    } else reader.skipValue();
  }
  if (name === undefined || name === '') throw new InferenceError('invalid-request', `output #${index} has no 'name'`);
  return [name, form];
}
