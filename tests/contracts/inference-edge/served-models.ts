/** The models of the contract: small, and real. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Datatype, datatypes } from '@millrace/protocol';
import { arithmeticModel, binaryModel, gatherModel, ModelRepository, onnxModelFrom } from '@millrace/worker/testing';
import { repositoryRoot } from '../../support/repository-root.ts';
import type { Script } from './scripted-model.ts';

/** ONNX Runtime's API has no BF16: a pipeline returns that input. */
export const onnxDatatypes = (Object.keys(datatypes) as Datatype[]).filter((datatype) => datatype !== 'BF16');

export const queueRequestsMax = 8;

const sequenceSum = join(repositoryRoot, 'tests/models/sequence_sum');

const parameter = (key: string, value: string | number) =>
  `parameters { key: "millrace.${key}" value { string_value: "${value}" } }\n`;
/** One process for all of them. */
const together = parameter('worker_group', 'small') + parameter('threads', 1);

/**
 * A scripted model that answers nothing: it declines. As long as no run of it was answered, nothing is known of how long
 * requests wait, and none is refused for its deadline before that has passed.
 */
export const decliningModel = 'declining';

export function writeContractModels(script: Script): ModelRepository {
  const models = new ModelRepository()
    .write('arithmetic/1/model.onnx', arithmeticModel(2))
    .write('arithmetic/config.pbtxt', `max_batch_size: 8\n${together}`)
    .write('any_rows/1/model.onnx', negativeModel())
    .write('any_rows/config.pbtxt', together)
    .write('single_value/1/model.onnx', doubledModel([]))
    .write('single_value/config.pbtxt', together)
    .write('free_sizes/1/model.onnx', doubledModel(['rows', 'columns']))
    .write('free_sizes/config.pbtxt', together)
    .write('calculator/1/model.onnx', binaryModel('Add'))
    .write('calculator/2/model.onnx', binaryModel('Mul'))
    .write('calculator/config.pbtxt', `max_batch_size: 8 version_policy { all { } }\n${together}`)
    .write('gather/1/model.onnx', gatherModel())
    .write('gather/config.pbtxt', together)
    .write('zeros/1/model.onnx', zerosModel())
    .write('zeros/config.pbtxt', together)
    .write('broken/1/model.onnx', 'this is no graph')
    .copy(sequenceSum)
    .write(
      'sequence_sum/config.pbtxt',
      readFileSync(join(sequenceSum, 'config.pbtxt'), 'utf8').replace('"sequences"', '"small"'),
    )
    .write('passed_bf16/1/pipeline.js', passedBf16)
    .write('fragile/1/pipeline.js', script.source())
    .write(`${decliningModel}/1/pipeline.js`, script.source())
    .write(`${decliningModel}/config.pbtxt`, parameter('concurrency', 1))
    .write('held/1/pipeline.js', script.source())
    .write(
      'held/config.pbtxt',
      `${parameter('concurrency', 1)}${parameter('queue_requests_max', queueRequestsMax)}
      dynamic_batching {
        priority_levels: 3 default_priority_level: 2
        default_queue_policy { default_timeout_microseconds: 600000000 allow_timeout_override: true }
      }`,
    );
  for (const datatype of onnxDatatypes) {
    const name = passedModelOf(datatype);
    models.write(`${name}/1/model.onnx`, passingOn(datatype)).write(`${name}/config.pbtxt`, together);
  }
  return models;
}

/** Gives `passed`, which is `given`. */
export function passedModelOf(datatype: Datatype): string {
  return `passed_${datatype.toLowerCase()}`;
}

const passedBf16 = `
import { definePipeline } from 'millrace/pipeline';
export default definePipeline({
  inputs: { given: { datatype: 'BF16', shape: [-1] } },
  outputs: { passed: { datatype: 'BF16', shape: [-1] } },
  run: ({ inputs }) => ({ passed: inputs.given }),
});`;

function passingOn(datatype: Datatype): Uint8Array {
  return onnxModelFrom({
    inputs: [{ name: 'given', datatype, shape: ['n'] }],
    outputs: [{ name: 'passed', datatype, shape: ['n'] }],
    nodes: [{ operator: 'Identity', inputs: ['given'], outputs: ['passed'] }],
  });
}

/** `output = -input`, and no configuration that says how many rows a batch has. */
function negativeModel(): Uint8Array {
  return onnxModelFrom({
    inputs: [{ name: 'input', datatype: 'FP32', shape: ['batch', 1] }],
    outputs: [{ name: 'output', datatype: 'FP32', shape: ['batch', 1] }],
    nodes: [{ operator: 'Neg', inputs: ['input'], outputs: ['output'] }],
  });
}

/** `y = x + x`. */
function doubledModel(shape: readonly string[]): Uint8Array {
  return onnxModelFrom({
    inputs: [{ name: 'x', datatype: 'FP32', shape }],
    outputs: [{ name: 'y', datatype: 'FP32', shape }],
    nodes: [{ operator: 'Add', inputs: ['x', 'x'], outputs: ['y'] }],
  });
}

/** As many zeros as it is asked for: a large answer to a small request. */
function zerosModel(): Uint8Array {
  return onnxModelFrom({
    inputs: [{ name: 'count', datatype: 'INT64', shape: [1] }],
    outputs: [{ name: 'zeros', datatype: 'FP32', shape: ['n'] }],
    nodes: [{ operator: 'ConstantOfShape', inputs: ['count'], outputs: ['zeros'] }],
  });
}
