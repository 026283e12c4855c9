/** Model definitions, as the router would have read them from the files of a simulated repository. */
import { type ModelPolicy, planEnsemble, type SequencePolicy } from '@millrace/core';
import type { TensorSpec } from '@millrace/protocol';
import type { ModelView, RunSharing } from '@millrace/router';
import type { ModelDefinition, ModelVersionDefinition } from '@millrace/router/internal';
import { int32Bytes } from '../lane/rows.ts';
import { groupName, type WorldModel } from './layout.ts';

/** One version of a model in its folder. Another content has another stamp. */
export interface VersionFile {
  readonly stamp: number;
  readonly model: WorldModel;
  readonly version: string;
  readonly bytes: number;
  readonly policy: ModelPolicy;
  readonly sequences: SequencePolicy;
}

/** The instances of a model, by the least urgent priority level that each takes; Infinity: all. */
export type Instances = readonly number[];

/** What tensors the models of a world have. */
export interface TensorChoice {
  /** The rows of requests differ in length. */
  readonly hasGroups: boolean;
  /** An input that makes a request run alone. */
  readonly hasOverride: boolean;
}

type Sequencing = NonNullable<ModelVersionDefinition['sequencing']>;

const anyRows: RunSharing = {
  sharesRuns: true,
  isGuessed: true,
  verdict: { kind: 'independent' },
  reason: '',
  advice: '',
};

/** The most rows of a request to an ensemble: every model takes that many. */
export const ensembleRowsMax = 3;

export function definitionOf(
  model: WorldModel,
  files: readonly VersionFile[],
  instances: Instances,
  tensors: TensorChoice,
): ModelDefinition {
  const { name, kind, isShared, isConcurrent, cache } = model;
  const placements = kind === 'ensemble' ? [] : instances;
  return {
    name,
    path: `/models/${name}`,
    versions: files.map((file) => versionOf(file, tensors)),
    engine: kind === 'ensemble' ? undefined : isConcurrent ? 'pipeline' : 'onnxruntime',
    lane: isConcurrent ? 'pipeline' : 'local',
    workerGroup: isShared ? groupName : name,
    isGroupShared: isShared,
    sharesWorker: true,
    instanceGroups: [],
    placements: placements.map((priorityMax) => ({ group: name, gpu: undefined, priorityMax, threads: 0 })),
    instanceCount: placements.length,
    warmSpares: 0,
    threads: 1,
    isSpinning: false,
    cache: cache === 'none' ? undefined : { isShared: cache === 'all' },
  };
}

/** Where the content of a version is read from: whatever is there when a worker reads it. */
export function pathOf({ model, version }: VersionFile): string {
  return `/models/${model.name}/${version}/model`;
}

function versionOf(file: VersionFile, tensors: TensorChoice): ModelVersionDefinition {
  const { model, version, policy } = file;
  const view = viewOf(file, tensors);
  const parts = { version, path: pathOf(file), externalPaths: [], view, policy };
  switch (model.kind) {
    case 'ensemble':
      return { ...parts, runner: 'ensemble', ensemble: ensembleOf(model) };
    case 'sequence':
      return { ...parts, runner: 'queue', sequencing: sequencingOf(view, file.sequences) };
    case 'decoupled':
      return { ...parts, runner: 'queue', concurrent: { concurrency: 4, isDecoupled: true } };
    case 'stateful':
      return { ...parts, runner: 'queue' };
    case 'plain':
      return { ...parts, runner: 'queue', ...(model.isConcurrent ? { concurrent: { concurrency: 4 } } : {}) };
  }
}

function viewOf({ model, version, policy, stamp }: VersionFile, tensors: TensorChoice): ModelView {
  const { name, kind, isSplit, isResumable } = model;
  const isBatched = kind !== 'decoupled';
  const rowShape = isBatched ? [-1, 1] : [-1];
  const outputNames = ['y', 'by', ...ownOutputs[kind]];
  return {
    name,
    version,
    platform: 'onnxruntime_onnx',
    inputs: inputsOf(kind, tensors),
    outputs: outputNames.map((output) => ({ name: output, datatype: 'INT32', shape: rowShape })),
    isBatched,
    rowsMax: kind === 'ensemble' ? ensembleRowsMax : isBatched ? policy.rowsMax : 1,
    ...(isSplit ? { sharing: anyRows } : {}),
    ...(kind === 'decoupled' ? { isDecoupled: true, ...(isResumable ? { isResumable } : {}) } : {}),
    ...(kind === 'stateful' ? { streamStates: [{ input: 'state', output: 'next' }] } : {}),
    labels: new Map(),
    config: { stamp },
  };
}

/** What models give beside the outputs of all. */
const ownOutputs: Readonly<Record<WorldModel['kind'], readonly string[]>> = {
  plain: [],
  sequence: ['seq'],
  ensemble: [],
  decoupled: [],
  stateful: ['sum', 'next'],
};

function inputsOf(kind: WorldModel['kind'], { hasGroups, hasOverride }: TensorChoice): readonly TensorSpec[] {
  if (kind === 'decoupled') {
    return [
      { name: 'x', datatype: 'INT32', shape: [-1] },
      { name: 'text', datatype: 'BYTES', shape: [-1] },
    ];
  }
  const inputs: TensorSpec[] = [
    { name: 'x', datatype: 'INT32', shape: [-1, hasGroups ? -1 : 1] },
    { name: 'text', datatype: 'BYTES', shape: [-1, 1] },
  ];
  if (kind === 'stateful') return [...inputs, { name: 'state', datatype: 'INT32', shape: [-1, 1] }];
  const override: TensorSpec = { name: 'mode', datatype: 'INT32', shape: [1], isOptional: true, hasDefault: true };
  return hasOverride && kind === 'plain' ? [...inputs, override] : inputs;
}

/** Each step takes the values of the step before it; all take the texts of the request. */
function ensembleOf({ steps }: WorldModel): Extract<ModelVersionDefinition, { runner: 'ensemble' }>['ensemble'] {
  const last = steps.length - 1;
  const planning = planEnsemble({
    inputs: ['x', 'text'],
    outputs: ['y', 'by'],
    steps: steps.map((model, index) => ({
      model,
      version: '',
      inputs: [
        { name: 'x', tensor: index === 0 ? 'x' : `y${index - 1}` },
        { name: 'text', tensor: 'text' },
      ],
      outputs:
        index === last
          ? [
              { name: 'y', tensor: 'y' },
              { name: 'by', tensor: 'by' },
            ]
          : [{ name: 'y', tensor: `y${index}` }],
    })),
  });
  if ('problems' in planning) throw new Error(JSON.stringify(planning.problems));
  return { plan: planning.plan, inflightMax: Number.POSITIVE_INFINITY, labels: new Map(), ownLabels: new Set() };
}

/** The state of a sequence is its third output: which one it is, and how many steps it had. */
function sequencingOf(view: ModelView, policy: SequencePolicy): Sequencing {
  const start: TensorSpec = { name: 'START', datatype: 'INT32', shape: [-1, 1] };
  const state: TensorSpec = { name: 'STATE', datatype: 'INT32', shape: [-1, 1] };
  const [no, yes] = [int32Bytes([0]), int32Bytes([1])];
  return {
    policy,
    engineView: { ...view, inputs: [...view.inputs, start, state] },
    controls: [{ kind: 'start', spec: start, falseData: no, trueData: yes }],
    states: [{ spec: state, output: 2, initialShape: [1, 1], initialData: no }],
    stateBytesMax: 1000,
  };
}
