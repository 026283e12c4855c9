/** The `state` entries: outputs of one step that are inputs of the next, kept by the server. */
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { OnnxGraph } from '@millrace/onnx';
import {
  bytesElementsProblem,
  type Datatype,
  elementCount,
  messageFromFileError,
  type TensorSpec,
  takeByteSize,
} from '@millrace/protocol';
import type { ImplicitState } from '../../model/sequencing.ts';
import { carryingProblem } from '../carrying-problem.ts';
import type { Findings } from '../config-text/findings.ts';
import { staysInside } from '../label-file.ts';
import { specFrom } from '../tensor-config.ts';
import { inputOf } from './read-controls.ts';
import type { WrittenState } from './written.ts';

/** Beside the versions of the model. */
const initialStateFolder = 'initial_state';

export interface ReadState extends Omit<ImplicitState, 'output'> {
  readonly output: TensorSpec;
}

export interface StateReading {
  readonly graph: OnnxGraph;
  readonly isBatched: boolean;
  readonly modelFolder: string;
  /** Of the states of all sequences together. */
  readonly bytesMax: number;
  readonly findings: Findings;
}

/** Every problem goes to `findings`; the result is of use only when there are none. */
export async function readStates(
  written: readonly WrittenState[],
  reading: StateReading,
): Promise<readonly ReadState[]> {
  const states: ReadState[] = [];
  const seen = new Set<string>();
  for (const [index, state] of written.entries()) {
    const path = `sequence_batching.state[${index}]`;
    for (const name of [`input ${state.input_name}`, `output ${state.output_name}`]) {
      if (seen.has(name))
        reading.findings.problem(path, `the ${name} already belongs to another state; remove one of them`);
      seen.add(name);
    }
    const read = await readState(state, path, reading);
    if (read !== undefined) states.push(read);
  }
  return states;
}

async function readState(state: WrittenState, path: string, reading: StateReading): Promise<ReadState | undefined> {
  const { graph, isBatched, findings } = reading;
  warnOfMemory(state, path, findings);
  const input = inputOf(state.input_name ?? '', graph, `${path}.input_name`, findings);
  const outputName = state.output_name ?? '';
  const output = graph.outputs.find(({ name }) => name === outputName);
  if (output === undefined) {
    const names = graph.outputs.map(({ name }) => name).join(', ');
    findings.problem(`${path}.output_name`, `the graph has no output ${JSON.stringify(outputName)}; it has ${names}`);
  }
  if (input === undefined || output === undefined) return undefined;
  const problem = carryingProblem(input, 'input') ?? carryingProblem(output, 'output');
  if (problem !== undefined) {
    findings.problem(path, problem);
    return undefined;
  }
  const entry = {
    ...(state.data_type === undefined ? {} : { data_type: state.data_type }),
    ...(state.dims === undefined ? {} : { dims: state.dims }),
  };
  const spec = specFrom({ name: input.name, ...entry }, input, isBatched, path, findings);
  const outputSpec =
    spec === undefined ? undefined : specFrom({ name: output.name, ...entry }, output, isBatched, path, findings);
  if (spec === undefined || outputSpec === undefined) return undefined;
  const initialShape = initialShapeOf(state, spec, `${path}.initial_state`, reading);
  if (initialShape === undefined) return undefined;
  const initialData = await initialDataOf(state, spec.datatype, initialShape, `${path}.initial_state[0]`, reading);
  return initialData === undefined ? undefined : { spec, output: outputSpec, initialShape, initialData };
}

function warnOfMemory(state: WrittenState, path: string, findings: Findings): void {
  if (state.use_same_buffer_for_input_output === true) {
    findings.warning(`${path}.use_same_buffer_for_input_output`, 'has no effect: a state is copied between two steps');
  }
  if (state.use_growable_memory === true) {
    findings.warning(`${path}.use_growable_memory`, 'has no effect: a state may grow and shrink with every step');
  }
}

/** Free sizes are 1 to begin with. */
function initialShapeOf(
  state: WrittenState,
  spec: TensorSpec,
  path: string,
  { isBatched, findings }: StateReading,
): readonly number[] | undefined {
  const given = state.initial_state ?? [];
  const [initial] = given;
  if (given.length > 1) findings.problem(path, 'must be written exactly once: a state has one initial value');
  const rowShape = isBatched ? spec.shape.slice(1) : spec.shape;
  const dims = initial?.dims === undefined || initial.dims.length === 0 ? rowShape : initial.dims.map(Number);
  const shape = dims.map((size) => (size < 0 ? 1 : size));
  const fits = shape.length === rowShape.length && shape.every((size, axis) => fitsSize(size, rowShape[axis]));
  if (!fits) {
    findings.problem(
      `${path}[0].dims`,
      `is [ ${dims.join(', ')} ], which is not a shape of the state [ ${rowShape.join(', ')} ]`,
    );
  }
  if (initial?.data_type !== undefined && initial.data_type !== state.data_type) {
    findings.problem(`${path}[0].data_type`, `is ${initial.data_type}, but the state is ${state.data_type}`);
  }
  return fits ? (isBatched ? [1, ...shape] : shape) : undefined;
}

function fitsSize(size: number, wanted: number | undefined): boolean {
  return Number.isSafeInteger(size) && size >= 0 && (wanted === -1 || size === wanted);
}

async function initialDataOf(
  state: WrittenState,
  datatype: Datatype,
  shape: readonly number[],
  path: string,
  { modelFolder, bytesMax, findings }: StateReading,
): Promise<Uint8Array | undefined> {
  const file = state.initial_state?.[0]?.data_file;
  // An element of BYTES with no letters is its length, 0, in four bytes.
  const expected =
    datatype === 'BYTES' ? elementCount(shape) * 4 : (takeByteSize(datatype, shape) ?? Number.POSITIVE_INFINITY);
  if (expected > bytesMax) {
    const limit = `more than the ${bytesMax} of millrace.sequence_state_bytes_max`;
    findings.problem(path, `takes ${expected} bytes, ${limit}, so no sequence fits; raise it, or use smaller dims`);
    return undefined;
  }
  if (file === undefined) return new Uint8Array(expected);
  if (!staysInside(file)) {
    findings.problem(
      `${path}.data_file`,
      `${JSON.stringify(file)} must be in the model's ${initialStateFolder} folder`,
    );
    return undefined;
  }
  const filePath = join(modelFolder, initialStateFolder, file);
  try {
    const { size } = await stat(filePath);
    if (datatype !== 'BYTES' && size !== expected) {
      findings.problem(
        `${path}.data_file`,
        `${filePath} has ${size} bytes; ${datatype} [ ${shape.join(', ')} ] takes ${expected}`,
      );
      return undefined;
    }
    const data = await readFile(filePath);
    const problem = datatype === 'BYTES' ? bytesElementsProblem(data, elementCount(shape)) : undefined;
    if (problem === undefined) return new Uint8Array(data);
    findings.problem(`${path}.data_file`, `${filePath}: ${problem}`);
  } catch (error) {
    findings.problem(`${path}.data_file`, `${filePath} ${messageFromFileError(error)}`);
  }
  return undefined;
}
