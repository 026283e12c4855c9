/** Reads one model from a temporary folder; tests give only the settings that matter to them. */

import type { RowVerdict } from '@millrace/onnx';
import { modelBytes, type TestShape, tensorInfo } from '@millrace/onnx/testing';
import { type GpuSupport, noGpuSupport } from '@millrace/protocol';
import type { ModelReading, ModelVersionDefinition } from '../../model/model-definition.ts';
import { type ModelDefaults, modelDefaults } from '../model-parameters.ts';
import { readModel } from '../read-model.ts';
import { TestRepository } from './test-repository.ts';

type Tensors = Readonly<Record<string, readonly [elementType: number, shape: TestShape | undefined]>>;

export interface GivenModel {
  readonly config?: string;
  readonly inputs?: Tensors;
  readonly outputs?: Tensors;
  readonly graphFields?: readonly Uint8Array[];
  readonly irVersion?: number;
  readonly gpu?: GpuSupport;
  readonly defaults?: ModelDefaults;
  /** What the analysis of the graph says; by default that its rows are independent. */
  readonly verdict?: RowVerdict;
  readonly isBatchingStrict?: boolean;
  /** Further files of the model's folder. */
  readonly files?: Readonly<Record<string, Uint8Array>>;
}

/** The entries of the default graph, and a whole configuration for it. */
export const testEntries =
  'input { name: "x" data_type: TYPE_FP32 dims: [ 4 ] } output { name: "y" data_type: TYPE_FP32 dims: [ 4 ] }';
export const testConfig = `max_batch_size: 8 ${testEntries}`;

/** Reads a model `m` with this configuration and graph; by default x FP32 [batch, 4] to y FP32 [batch, 4]. */
export async function readTestModel(given: GivenModel): Promise<ModelReading> {
  const { config, inputs, outputs, graphFields = [], gpu = noGpuSupport, defaults = modelDefaults } = given;
  const bytes = modelBytes({
    inputs: infos(inputs ?? { x: [1, ['batch', 4]] }),
    outputs: infos(outputs ?? { y: [1, ['batch', 4]] }),
    graphFields,
    ...(given.irVersion === undefined ? {} : { irVersion: given.irVersion }),
  });
  const repository = await TestRepository.create();
  try {
    await repository.write('m/1/model.onnx', bytes);
    if (config !== undefined) await repository.write('m/config.pbtxt', config);
    for (const [name, content] of Object.entries(given.files ?? {})) await repository.write(`m/${name}`, content);
    const path = `${repository.path}/m`;
    const location = { name: 'm', path, isSingleFile: false, hasConfig: config !== undefined, versions: ['1'] };
    const { verdict = { kind: 'independent' }, isBatchingStrict = false } = given;
    return await readModel(location, { gpu, defaults, isBatchingStrict, analyseRows: async () => verdict });
  } finally {
    await repository.remove();
  }
}

/** The same for a model that must be served: its definition, its only version and the warnings. */
export async function serveTestModel(
  given: GivenModel,
): Promise<
  ModelVersionDefinition & Pick<ModelReading, 'warnings'> & { definition: NonNullable<ModelReading['definition']> }
> {
  const { definition, failures, warnings } = await readTestModel(given);
  const version = definition?.versions[0];
  if (definition === undefined || version === undefined) throw new Error(`not served: ${JSON.stringify(failures)}`);
  return { definition, warnings, ...version };
}

function infos(tensors: Tensors): readonly Uint8Array[] {
  return Object.entries(tensors).map(([name, [type, shape]]) => tensorInfo(name, type, shape));
}
