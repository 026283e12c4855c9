import { byteSourceFromBytes, type OnnxGraph, readOnnxGraph } from '@millrace/onnx';
import { modelBytes, tensorInfo } from '@millrace/onnx/testing';
import { noGpuSupport } from '@millrace/protocol';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { chooseBatching } from '../../batching-choice.ts';
import { readModelConfig } from '../../config-text/read-model-config.ts';
import { readInstanceGroups } from '../../instance-groups.ts';
import { modelDefaults, readModelSettings } from '../../model-parameters.ts';
import { testEntries } from '../../testing/test-model.ts';
import { checkUnservedFields } from '../../unserved-fields.ts';
import { chooseVersions } from '../../version-policy.ts';
import { completeConfig } from './complete-config.ts';

const size = fc.constantFrom<string | number>('n', 'm', '', 1, 4, -1);
const shape = fc.oneof({ weight: 6, arbitrary: fc.array(size, { maxLength: 3 }) }, fc.constant(undefined));
const elementType = fc.oneof({ weight: 6, arbitrary: fc.constant(1) }, fc.constantFrom(7, 8, 9, 10, 16, 0, 99));
const graphs = fc
  .record({ x: fc.tuple(elementType, shape), y: fc.tuple(elementType, shape), hasInput: fc.boolean() })
  .map(({ x, y, hasInput }) =>
    modelBytes({ inputs: hasInput ? [tensorInfo('x', ...x)] : [], outputs: [tensorInfo('y', ...y)] }),
  );

const fields = fc.constantFrom(
  ...['name: "x"', 'name: "y"', 'name: ""', 'data_type: TYPE_FP32', 'data_type: TYPE_INT64', 'dims: 4', 'dims: -1'],
  ...['dims: [ 1, 4 ]', 'dims: 0', 'reshape { shape: 4 }', 'reshape { }', 'optional: true', 'format: FORMAT_NCHW'],
);
const block = fc.array(fields, { maxLength: 5 }).map((all) => all.join(' '));
const configs = fc
  .array(
    fc.oneof(
      block.map((text) => `input { ${text} }`),
      block.map((text) => `output { ${text} }`),
      fc.constantFrom(...testEntries.split(/(?=output)/)),
      fc.constantFrom('max_batch_size: 0', 'max_batch_size: 4', 'max_batch_size: -4', 'dynamic_batching { }'),
      fc.constantFrom('dynamic_batching { preferred_batch_size: 9 }', 'instance_group { kind: KIND_GPU gpus: 1 }'),
      fc.constantFrom('version_policy { specific { versions: 3 } }', 'parameters { key: "millrace.lane" }'),
    ),
    { maxLength: 4 },
  )
  .map((all) => all.join('\n'));

test('any configuration and any graph give problems or a model that fits both', async () => {
  let served = 0;
  await fc.assert(
    fc.asyncProperty(configs, graphs, async (text, bytes) => {
      const graph: OnnxGraph = await readOnnxGraph(byteSourceFromBytes(bytes));
      const { config, findings } = readModelConfig(Buffer.from(text), 'config.pbtxt');
      checkUnservedFields(config, findings);
      readModelSettings(config, 'm', modelDefaults, findings);
      chooseVersions(config, ['1', '3'], findings);
      const groups = readInstanceGroups(config, 'm', noGpuSupport, findings);
      const verdict = { kind: 'independent' } as const;
      const choice = chooseBatching({ config, graph, verdict, isStrict: false }, findings);
      const completed = completeConfig(config, graph, 'm', groups, choice, findings);
      if (findings.hasProblems) return;
      served += 1;
      const { inputs, outputs } = completed;
      const { rowsMax } = choice;
      expect(inputs.map(({ name }) => name)).toEqual(graph.inputs.map(({ name }) => name));
      const written = new Set([...(config.input ?? []), ...(config.output ?? [])].map(({ name }) => name));
      for (const spec of [...inputs, ...outputs]) {
        // What is written has dims; what is not has the graph's shape.
        if (written.has(spec.name)) expect(spec.shape.length).toBeGreaterThan(rowsMax > 0 ? 1 : 0);
        else expect(spec.engineShape).toBeUndefined();
        if (rowsMax > 0) expect(spec.shape[0]).toBe(-1);
        const tensor = [...graph.inputs, ...graph.outputs].find(({ name }) => name === spec.name);
        const engineShape = spec.engineShape ?? spec.shape;
        if (tensor?.shape !== undefined) expect(engineShape.length).toBe(tensor.shape.length);
      }
    }),
    { seed: 7, numRuns: 1000 },
  );
  expect(served).toBeGreaterThan(100);
});
