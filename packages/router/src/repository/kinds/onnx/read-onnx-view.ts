import { analyseRowsOfFile, type RowVerdict } from '@millrace/onnx';
import type { ModelView } from '../../../model/model-view.ts';
import type { RunSharing } from '../../../model/run-sharing.ts';
import { readShaping, unraggedGraphOf } from '../../batch-shaping/read-shaping.ts';
import { chooseBatching } from '../../batching-choice.ts';
import type { Findings } from '../../config-text/findings.ts';
import { jsonFromModelConfig } from '../../config-text/read-model-config.ts';
import { readAllLabels } from '../../label-file.ts';
import type { ReadModelOptions } from '../../read-model-options.ts';
import { clientGraphOf } from '../../sequence-batching/read-sequencing.ts';
import { sharedSizesOf } from '../../shared-sizes.ts';
import type { ModelParts } from '../model-kind.ts';
import { completeConfig, onnxPlatformName } from './complete-config.ts';
import type { ModelFile } from './model-file.ts';
import { withZipMapLabels } from './zip-maps.ts';

/** A graph as clients see it, and the verdict on whether its rows are independent. */
export interface OnnxView {
  readonly view: ModelView;
  readonly verdict: RowVerdict;
  readonly sharing: RunSharing;
}

const raggedVerdict: RowVerdict = {
  kind: 'unknown',
  node: '',
  reason: 'the configuration has ragged inputs or batch inputs, which the analysis does not cover',
};

/** Completes the configuration of a version from its graph. Of use only when `findings` has no problems afterwards. */
export async function readOnnxView(
  { location, config, groups }: ModelParts,
  version: string,
  file: ModelFile,
  options: ReadModelOptions,
  findings: Findings,
): Promise<OnnxView> {
  const clientGraph = clientGraphOf(file.graph, config);
  const graph = unraggedGraphOf(clientGraph, config);
  const verdict = graph === clientGraph ? await (options.analyseRows ?? analyseRowsOfFile)(file.path) : raggedVerdict;
  const choice = chooseBatching({ config, graph, verdict, isStrict: options.isBatchingStrict === true }, findings);
  const { rowsMax: batchSizeMax, ...sharing } = choice;
  const completed = completeConfig(config, graph, location.name, groups, choice, findings);
  const labels = withZipMapLabels(await readAllLabels(location.path, config, findings), file.zipMaps);
  const sharedSizes = sharedSizesOf(file.graph, completed.inputs);
  const view: ModelView = {
    name: location.name,
    version,
    platform: onnxPlatformName,
    inputs: completed.inputs,
    outputs: completed.outputs,
    isBatched: batchSizeMax > 0,
    rowsMax: Math.max(1, batchSizeMax),
    sharing,
    labels,
    takesTextOnly: true,
    ...(sharedSizes.length === 0 ? {} : { sharedSizes }),
    ...(file.graph.emptyHazard === undefined ? {} : { emptyHazard: file.graph.emptyHazard }),
    config: jsonFromModelConfig(completed.config),
  };
  const shaping = readShaping(config, file.graph, view, findings);
  return { view: shaping === undefined ? view : { ...view, shaping }, verdict, sharing };
}
