import { isDatatype } from '../datatypes.ts';
import type { TensorSpec } from '../tensor.ts';
import { MalformedFrame } from './frame-layout.ts';
import { takeGeneratorProbe } from './generator-probe.ts';
import type { GpuSpec } from './gpu.ts';
import { type EngineName, engineNames, type LoadSpec } from './messages.ts';
import {
  type ContentFile,
  type ContentLocation,
  contentFilesMax,
  contentPathProblem,
  isContentDigest,
  type ModelContent,
} from './model-content.ts';
import type { WarmupFill, WarmupInput, WarmupSample } from './warm-up.ts';

/** Parses the JSON of a load frame and checks every field: the result is a `LoadSpec` and nothing more. */
export function loadSpecFrom(json: string): LoadSpec {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw new MalformedFrame('a load frame does not contain valid JSON');
  }
  const spec = objectFrom(value, 'the model');
  const engine = engineFrom(spec.engine);
  return {
    model: countFrom(spec.model, 'model'),
    name: textFrom(spec.name, 'name'),
    version: textFrom(spec.version, 'version'),
    engine,
    path: textFrom(spec.path, 'path'),
    ...(spec.folder === undefined ? {} : { folder: textFrom(spec.folder, 'folder') }),
    ...(spec.content === undefined ? {} : { content: modelContentFrom(objectFrom(spec.content, 'content')) }),
    inputs: listFrom(spec.inputs, 'inputs').map(tensorSpecFrom),
    outputs: listFrom(spec.outputs, 'outputs').map(tensorSpecFrom),
    isBatched: flagFrom(spec.isBatched, 'isBatched'),
    threads: countFrom(spec.threads, 'threads'),
    isSpinning: flagFrom(spec.isSpinning, 'isSpinning'),
    ...(spec.gpu === undefined ? {} : { gpu: gpuFrom(objectFrom(spec.gpu, 'gpu')) }),
    ...(spec.batchSizes === undefined
      ? {}
      : { batchSizes: listFrom(spec.batchSizes, 'batchSizes').map((rows) => countFrom(rows, 'batchSizes')) }),
    ...(spec.warmup === undefined ? {} : { warmup: listFrom(spec.warmup, 'warmup').map(warmupSampleFrom) }),
    ...(spec.concurrency === undefined ? {} : { concurrency: countFrom(spec.concurrency, 'concurrency') }),
    ...(spec.isDecoupled === undefined ? {} : { isDecoupled: trueFrom(spec.isDecoupled, 'isDecoupled') }),
    ...(spec.cacheBytesMax === undefined ? {} : { cacheBytesMax: countFrom(spec.cacheBytesMax, 'cacheBytesMax') }),
    ...probeFrom(spec.probe),
    ...(spec.cutsZipMaps === undefined ? {} : { cutsZipMaps: flagFrom(spec.cutsZipMaps, 'cutsZipMaps') }),
  };
}

function probeFrom(value: unknown): Pick<LoadSpec, 'probe'> {
  const probe = takeGeneratorProbe(value);
  return probe === undefined ? {} : { probe };
}

function engineFrom(value: unknown): EngineName {
  const name = engineNames.find((candidate) => candidate === value);
  if (name === undefined) throw new MalformedFrame(`unknown engine ${JSON.stringify(value)}`);
  return name;
}

function gpuFrom({ id, provider }: Record<string, unknown>): GpuSpec {
  if (provider === 'cuda' || provider === 'tensorrt') return { id: countFrom(id, 'id'), provider };
  throw new MalformedFrame(`unknown provider ${JSON.stringify(provider)}`);
}

function modelContentFrom(content: Record<string, unknown>): ModelContent {
  const digest = textFrom(content.digest, 'digest');
  if (!isContentDigest(digest)) throw wrong('digest', '"sha256:" and 64 hexadecimal digits');
  const files = listFrom(content.files, 'files').map(contentFileFrom);
  const file = textFrom(content.file, 'file');
  if (files.length > contentFilesMax) throw wrong('files', `a list of at most ${contentFilesMax} files`);
  if (!files.some(({ path }) => path === file)) throw wrong('file', 'the path of one of the files');
  return { digest, file, files, locations: listFrom(content.locations, 'locations').map(contentLocationFrom) };
}

function contentFileFrom(value: unknown): ContentFile {
  const file = objectFrom(value, 'a file');
  const path = textFrom(file.path, 'path');
  const problem = contentPathProblem(path);
  if (problem !== undefined) throw new MalformedFrame(`in a load frame, the path of a file ${problem}`);
  const sha256 = textFrom(file.sha256, 'sha256');
  if (!isContentDigest(`sha256:${sha256}`)) throw wrong('sha256', '64 hexadecimal digits');
  return { path, sha256, bytes: countFrom(file.bytes, 'bytes') };
}

/** Locations of an unknown kind are those of a later release: this worker cannot fetch from them. */
function contentLocationFrom(value: unknown): ContentLocation {
  const location = objectFrom(value, 'a location');
  if (location.kind !== 'folder') return { kind: 'unknown', name: textFrom(location.kind, 'kind') };
  return { kind: 'folder', path: textFrom(location.path, 'path') };
}

function warmupSampleFrom(value: unknown): WarmupSample {
  const sample = objectFrom(value, 'a warm-up sample');
  return {
    name: textFrom(sample.name, 'name'),
    rows: countFrom(sample.rows, 'rows'),
    runs: countFrom(sample.runs, 'runs'),
    inputs: listFrom(sample.inputs, 'inputs').map(warmupInputFrom),
  };
}

function warmupInputFrom(value: unknown): WarmupInput {
  const input = objectFrom(value, 'a warm-up input');
  return {
    index: countFrom(input.index, 'index'),
    shape: listFrom(input.shape, 'shape').map((dimension) => countFrom(dimension, 'shape')),
    fill: warmupFillFrom(objectFrom(input.fill, 'fill')),
  };
}

function warmupFillFrom(fill: Record<string, unknown>): WarmupFill {
  if (fill.kind === 'file') return { kind: 'file', path: textFrom(fill.path, 'path') };
  if (fill.kind === 'values') {
    return { kind: 'values', values: listFrom(fill.values, 'values').map((value) => countFrom(value, 'values')) };
  }
  if (fill.kind === 'zeros' || fill.kind === 'random') return { kind: fill.kind };
  throw new MalformedFrame(`unknown fill ${JSON.stringify(fill.kind)}`);
}

function tensorSpecFrom(value: unknown): TensorSpec {
  const spec = objectFrom(value, 'a tensor');
  const name = textFrom(spec.name, 'name');
  const datatype = textFrom(spec.datatype, 'datatype');
  if (!isDatatype(datatype)) throw new MalformedFrame(`unknown datatype ${JSON.stringify(datatype)}`);
  return {
    name,
    datatype,
    shape: shapeFrom(spec.shape, 'shape'),
    ...(spec.engineShape === undefined ? {} : { engineShape: shapeFrom(spec.engineShape, 'engineShape') }),
    ...(spec.isOptional === undefined ? {} : { isOptional: flagFrom(spec.isOptional, 'isOptional') }),
    ...(spec.hasDefault === undefined ? {} : { hasDefault: flagFrom(spec.hasDefault, 'hasDefault') }),
    ...(spec.isAnyRank === undefined ? {} : { isAnyRank: flagFrom(spec.isAnyRank, 'isAnyRank') }),
  };
}

function shapeFrom(value: unknown, field: string): number[] {
  return listFrom(value, field).map((dimension) => (dimension === -1 ? -1 : countFrom(dimension, field)));
}

function objectFrom(value: unknown, field: string): Record<string, unknown> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw wrong(field, 'an object');
  return value as Record<string, unknown>;
}

function listFrom(value: unknown, field: string): readonly unknown[] {
  if (!Array.isArray(value)) throw wrong(field, 'a list');
  return value;
}

function textFrom(value: unknown, field: string): string {
  if (typeof value !== 'string') throw wrong(field, 'a string');
  return value;
}

function flagFrom(value: unknown, field: string): boolean {
  if (typeof value !== 'boolean') throw wrong(field, 'true or false');
  return value;
}

/** A flag that is omitted when it is false. */
function trueFrom(value: unknown, field: string): true {
  if (value !== true) throw wrong(field, 'true or omitted');
  return value;
}

function countFrom(value: unknown, field: string): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) throw wrong(field, 'a whole number');
  return value;
}

function wrong(field: string, expected: string): MalformedFrame {
  return new MalformedFrame(`in a load frame, ${field} must be ${expected}`);
}
