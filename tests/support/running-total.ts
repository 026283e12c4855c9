/** A stateful model for streams: the sum of all inputs so far. The server keeps the state. */
import { type ModelRepository, onnxModelFrom } from '@millrace/worker/testing';
import { runningTotal } from './running-total-name.ts';

export { runningTotal };

export function writeRunningTotal(repository: ModelRepository): ModelRepository {
  const value = (name: string) => ({ name, datatype: 'FP32' as const, shape: ['batch', 1] });
  const model = onnxModelFrom({
    inputs: [value('value'), value('state')],
    outputs: [value('total'), value('state_out')],
    nodes: [
      { operator: 'Add', inputs: ['value', 'state'], outputs: ['total'] },
      { operator: 'Add', inputs: ['value', 'state'], outputs: ['state_out'] },
    ],
  });
  const tensor = (name: string): string => `{ name: "${name}" data_type: TYPE_FP32 dims: [ 1 ] }`;
  return repository.write(`${runningTotal}/1/model.onnx`, model).write(
    `${runningTotal}/config.pbtxt`,
    `name: "${runningTotal}"
platform: "onnxruntime_onnx"
max_batch_size: 8
input [ ${tensor('value')}, ${tensor('state')} ]
output [ ${tensor('total')}, ${tensor('state_out')} ]
parameters { key: "millrace.stream_states" value { string_value: "state=state_out" } }
`,
  );
}

/** The payload of an input, in JSON. */
export function valueInput(value: number): { readonly tensors: readonly object[] } {
  return { tensors: [{ name: 'value', datatype: 'FP32', shape: [1, 1], data: [value] }] };
}
