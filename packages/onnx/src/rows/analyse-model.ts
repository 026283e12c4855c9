import type { GraphProto, ModelProto } from '../model/model-proto.ts';
import type { OnnxTensor } from '../onnx-graph.ts';
import type { RowVerdict } from '../row-verdict.ts';
import { type AnalysisLimits, analysisLimits, Interpreter, NodeMixed } from './interpreter.ts';
import { rowCount, Size } from './size.ts';
import type { Symbols } from './symbols.ts';
import { RowsMixed, rows, type Value } from './value.ts';

/** Older operator sets have other rules for broadcasting. */
const opsetMin = 7;

/** Whether rows on the first axis of all inputs stay separate up to the first axis of all outputs. */
export function analyseModel(model: ModelProto, limits: AnalysisLimits = analysisLimits): RowVerdict {
  const obstacle = inputObstacle(model.graph) ?? opsetObstacle(model);
  if (obstacle !== undefined) return obstacle;
  const interpreter = new Interpreter(model, limits);
  try {
    const outputs = interpreter.run(inputValues(model.graph, interpreter.symbols));
    for (const [index, value] of outputs.entries()) {
      const name = model.graph.outputs[index]?.name ?? '';
      const problem = outputProblem(value);
      if (problem !== undefined) return { kind: 'dependent', node: `output ${JSON.stringify(name)}`, reason: problem };
    }
    return { kind: 'independent' };
  } catch (error) {
    if (error instanceof NodeMixed) {
      return { kind: error.isCertain ? 'dependent' : 'unknown', node: error.node, reason: error.message };
    }
    if (error instanceof RowsMixed) return { kind: 'unknown', node: 'the graph', reason: error.message };
    throw error;
  }
}

/** Inputs without a default value. A request that provides one of the others runs alone. */
function requiredInputs({ inputs, initializers }: GraphProto): readonly OnnxTensor[] {
  return inputs.filter(({ name }) => !initializers.has(name));
}

function inputObstacle(graph: GraphProto): RowVerdict | undefined {
  const inputs = requiredInputs(graph);
  if (inputs.length === 0) return { kind: 'unknown', node: 'the graph', reason: 'it has no inputs' };
  const names = new Set<string>();
  for (const { name, kind, shape } of inputs) {
    const node = `input ${JSON.stringify(name)}`;
    if (kind !== 'tensor') return { kind: 'unknown', node, reason: `it is not a tensor but a ${kind}` };
    const first = shape?.[0];
    if (shape === undefined) return { kind: 'unknown', node, reason: 'the file does not state its shape' };
    if (first === undefined) return { kind: 'unknown', node, reason: 'it has no axes, so no rows' };
    if (typeof first === 'number')
      return { kind: 'unknown', node, reason: `its first axis has the fixed size ${first}` };
    if (first !== '') names.add(first);
  }
  const [batch] = names;
  if (names.size > 1) {
    const listed = [...names].map((name) => JSON.stringify(name)).join(', ');
    return { kind: 'unknown', node: 'the inputs', reason: `their first axes have different names: ${listed}` };
  }
  for (const { name, shape } of inputs) {
    if (batch === undefined || shape?.slice(1).includes(batch) !== true) continue;
    const reason = `${JSON.stringify(batch)} names its first axis and another one`;
    return { kind: 'unknown', node: `input ${JSON.stringify(name)}`, reason };
  }
  return undefined;
}

function opsetObstacle({ opsets }: ModelProto): RowVerdict | undefined {
  const version = opsets.get('');
  if (version === undefined || version >= opsetMin) return undefined;
  return { kind: 'unknown', node: 'the graph', reason: `operator set ${version} is older than ${opsetMin}` };
}

/** Every free size is separate: the engine does not require axes of the same name to be equally long. */
function inputValues(graph: GraphProto, symbols: Symbols): ReadonlyMap<string, Value> {
  return new Map(
    requiredInputs(graph).map(({ name, shape }) => {
      const dims = (shape ?? [])
        .slice(1)
        .map((size) => (typeof size === 'number' ? Size.constant(size) : symbols.size()));
      return [name, rows([rowCount, ...dims], 0)];
    }),
  );
}

function outputProblem(value: Value): string | undefined {
  if (value.kind === 'counted') return 'it depends on the number of rows';
  if (value.kind === 'plain') return 'it is the same for every batch, without a row for each row of the inputs';
  if (value.axis !== 0) return `its rows are on axis ${value.axis}, not on the first`;
  const size = value.dims[0];
  return size?.equals(rowCount) === true ? undefined : `it has ${size?.key} rows where the inputs have N`;
}
