/** The models that attacks and bystanders call: the answer of each is easy to check. */
import { join } from 'node:path';
import { type ModelRepository, type OnnxValue, onnxModelFrom } from '@millrace/worker/testing';
import { repositoryRoot } from '../support/repository-root.ts';
import { addSlowModel } from '../support/slow-model.ts';

const floats = (name: string, shape: OnnxValue['shape']): OnnxValue => ({ name, datatype: 'FP32', shape });

/** `y = x + x`, of any size. */
export const doubleModel = 'double';
/** `y` is as many zeros as `count` says: a small request with a large answer. */
export const growModel = 'grow';
/** A million scores for one number. */
export const classesModel = 'classes';
export const classesCount = 1_000_000;
/** Returns its texts unchanged. */
export const textsModel = 'texts';
/** Runs for as many milliseconds as its input says. */
export const slowModel = 'slow';
/** The sum of a sequence so far. */
export const sequenceModel = 'sequence_sum';

export function addAttackModels(models: ModelRepository): void {
  models.write(
    `${doubleModel}/1/model.onnx`,
    onnxModelFrom({
      inputs: [floats('x', ['batch', 'length'])],
      outputs: [floats('y', ['batch', 'length'])],
      nodes: [{ operator: 'Add', inputs: ['x', 'x'], outputs: ['y'] }],
    }),
  );
  models.write(
    `${growModel}/1/model.onnx`,
    onnxModelFrom({
      inputs: [{ name: 'count', datatype: 'INT64', shape: [1] }],
      outputs: [floats('y', ['n'])],
      nodes: [{ operator: 'ConstantOfShape', inputs: ['count'], outputs: ['y'] }],
    }),
  );
  models.write(
    `${classesModel}/1/model.onnx`,
    onnxModelFrom({
      inputs: [floats('x', ['batch', 1])],
      outputs: [floats('y', ['batch', classesCount])],
      nodes: [{ operator: 'Expand', inputs: ['x', 'size'], outputs: ['y'] }],
      constants: [
        {
          name: 'size',
          datatype: 'INT64',
          shape: [2],
          data: new Uint8Array(BigInt64Array.of(1n, BigInt(classesCount)).buffer),
        },
      ],
    }),
  );
  models.write(
    `${textsModel}/1/model.onnx`,
    onnxModelFrom({
      inputs: [{ name: 'x', datatype: 'BYTES', shape: ['n'] }],
      outputs: [{ name: 'y', datatype: 'BYTES', shape: ['n'] }],
      nodes: [{ operator: 'Identity', inputs: ['x'], outputs: ['y'] }],
    }),
  );
  models.copy(join(repositoryRoot, 'tests/models', sequenceModel));
  addSlowModel(models, slowModel);
}
