/** Model definitions, as the router would have read them from the files of a simulated repository. */
import type { ModelPolicy } from '@millrace/core';
import type { TensorSpec } from '@millrace/protocol';
import type { ModelView, RunSharing } from '@millrace/router';
import type { ModelDefinition, ModelVersionDefinition } from '@millrace/router/internal';
import { groupName, type SimulatedModel } from './layout.ts';

/** One version of a model in its folder. Another content has another stamp. */
export interface VersionFile {
  readonly stamp: number;
  readonly name: string;
  readonly version: string;
  readonly bytes: number;
  readonly policy: ModelPolicy;
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

const anyRows: RunSharing = {
  sharesRuns: true,
  isGuessed: true,
  verdict: { kind: 'independent' },
  reason: '',
  advice: '',
};

export function definitionOf(
  model: SimulatedModel,
  files: readonly VersionFile[],
  instances: Instances,
  tensors: TensorChoice,
): ModelDefinition {
  const { name, isShared, isConcurrent } = model;
  return {
    name,
    path: `/models/${name}`,
    versions: files.map((file) => versionOf(model, file, tensors)),
    engine: isConcurrent ? 'pipeline' : 'onnxruntime',
    lane: isConcurrent ? 'pipeline' : 'local',
    workerGroup: isShared ? groupName : name,
    isGroupShared: isShared,
    sharesWorker: true,
    instanceGroups: [],
    placements: instances.map((priorityMax) => ({ group: name, gpu: undefined, priorityMax, threads: 0 })),
    instanceCount: instances.length,
    threads: 1,
    isSpinning: false,
    cache: undefined,
  };
}

/** Where the content of a version is read from; a worker finds the file by it. */
export function pathOf({ name, version, stamp }: VersionFile): string {
  return `/models/${name}/${version}/${stamp}`;
}

export function stampFrom(path: string): number {
  return Number(path.slice(path.lastIndexOf('/') + 1));
}

function versionOf(model: SimulatedModel, file: VersionFile, tensors: TensorChoice): ModelVersionDefinition {
  const { version, policy } = file;
  return {
    version,
    path: pathOf(file),
    externalPaths: [],
    view: viewOf(model, file, tensors),
    policy,
    runner: 'queue',
    ...(model.isConcurrent ? { pipeline: { concurrency: 4 } } : {}),
  };
}

function viewOf({ name, isSplit }: SimulatedModel, file: VersionFile, tensors: TensorChoice): ModelView {
  return {
    name,
    version: file.version,
    platform: 'onnxruntime_onnx',
    inputs: inputsOf(tensors),
    outputs: [
      { name: 'y', datatype: 'INT32', shape: [-1, 1] },
      { name: 'by', datatype: 'INT32', shape: [-1, 1] },
    ],
    isBatched: true,
    rowsMax: file.policy.rowsMax,
    ...(isSplit ? { sharing: anyRows } : {}),
    labels: new Map(),
    config: { stamp: file.stamp },
  };
}

function inputsOf({ hasGroups, hasOverride }: TensorChoice): readonly TensorSpec[] {
  const inputs: TensorSpec[] = [
    { name: 'x', datatype: 'INT32', shape: [-1, hasGroups ? -1 : 1] },
    { name: 'text', datatype: 'BYTES', shape: [-1, 1] },
  ];
  const override: TensorSpec = { name: 'mode', datatype: 'INT32', shape: [1], isOptional: true, hasDefault: true };
  return hasOverride ? [...inputs, override] : inputs;
}
