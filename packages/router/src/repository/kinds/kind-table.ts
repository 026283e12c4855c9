/** The kinds of models. To add one, add a folder beside this file and a line here. */
import type { ModelConfig } from '../config-text/model-config-schema.ts';
import type { ModelLocation } from '../repository-layout.ts';
import { ensembleKind } from './ensemble/ensemble-kind.ts';
import { generatorKind } from './generator/generator-kind.ts';
import type { ModelKind, RecognisedKind } from './model-kind.ts';
import { onnxKind } from './onnx/onnx-kind.ts';
import { pipelineKind } from './pipeline/pipeline-kind.ts';

/** In the order in which they are asked. */
const recognisedKinds: readonly RecognisedKind[] = [ensembleKind, pipelineKind, generatorKind];
/** The kind of models that none of them recognises. */
const defaultKind: ModelKind = onnxKind;

export const modelKinds: readonly ModelKind[] = [defaultKind, ...recognisedKinds];

export async function kindOf(config: ModelConfig, location: ModelLocation): Promise<ModelKind> {
  for (const kind of recognisedKinds) if (await kind.recognises(config, location)) return kind;
  return defaultKind;
}
