/** Reads the `control_input` entries: the inputs that tell the model where a step is in its sequence. */

import { datatypeFromElementType, elementTypeName, type OnnxGraph, type OnnxTensor } from '@millrace/onnx';
import { datatypes, type FixedSizeDatatype, type TensorSpec, takeDatatypeOfConfig } from '@millrace/protocol';
import type { ControlInput } from '../../model/sequencing.ts';
import type { Findings } from '../config-text/findings.ts';
import { freeShape } from '../tensor-config.ts';
import type { WrittenControl, WrittenControlInput } from './written.ts';

const kinds = {
  CONTROL_SEQUENCE_START: 'start',
  CONTROL_SEQUENCE_END: 'end',
  CONTROL_SEQUENCE_READY: 'ready',
  CONTROL_SEQUENCE_CORRID: 'correlation-id',
} as const satisfies Record<string, ControlInput['kind']>;

type ControlKind = keyof typeof kinds;

const correlationTypes = ['TYPE_UINT64', 'TYPE_INT64', 'TYPE_UINT32', 'TYPE_INT32', 'TYPE_STRING'];

/** Every problem goes to `findings`; the result is of use only when there are none. */
export function readControls(
  written: readonly WrittenControlInput[],
  graph: OnnxGraph,
  isBatched: boolean,
  findings: Findings,
): readonly ControlInput[] {
  const controls: ControlInput[] = [];
  const seenKinds = new Set<ControlKind>();
  for (const [index, entry] of written.entries()) {
    const path = `sequence_batching.control_input[${index}]`;
    const [control, ...others] = entry.control ?? [];
    if (control === undefined || others.length > 0) {
      findings.problem(`${path}.control`, 'must be written exactly once: an input carries one control');
      continue;
    }
    const kind = control.kind ?? 'CONTROL_SEQUENCE_START';
    if (seenKinds.has(kind))
      findings.problem(`${path}.control[0].kind`, `${kind} is already carried by another input; remove one of them`);
    seenKinds.add(kind);
    const datatype = datatypeOf(control, kind, `${path}.control[0]`, findings);
    const tensor = inputOf(entry.name ?? '', graph, `${path}.name`, findings);
    if (datatype === undefined || tensor === undefined) continue;
    checkTensor(tensor, datatype.configName, isBatched, `${path}.name`, findings);
    const spec: TensorSpec = { name: tensor.name, datatype: datatype.name, shape: isBatched ? [-1, 1] : [1] };
    if (kind === 'CONTROL_SEQUENCE_CORRID') controls.push({ kind: kinds[kind], spec });
    else if (datatype.values !== undefined) {
      const [falseData, trueData] = datatype.values;
      controls.push({ kind: kinds[kind], spec, falseData, trueData });
    }
  }
  return controls;
}

interface ControlType {
  readonly name: FixedSizeDatatype | 'BYTES';
  readonly configName: string;
  /** False and true; a correlation id has none. */
  readonly values?: readonly [Uint8Array, Uint8Array];
}

function datatypeOf(
  control: WrittenControl,
  kind: ControlKind,
  path: string,
  findings: Findings,
): ControlType | undefined {
  const truths = ['int32_false_true', 'fp32_false_true', 'bool_false_true'] as const;
  const given = truths.filter((name) => (control[name] ?? []).length > 0);
  if (kind === 'CONTROL_SEQUENCE_CORRID') {
    if (given.length > 0) {
      findings.problem(`${path}.${given[0]}`, 'has no meaning for a correlation id; write data_type instead');
    }
    const written = control.data_type ?? 'TYPE_INVALID';
    const name = takeDatatypeOfConfig(written);
    if (name !== undefined && correlationTypes.includes(written)) return { name, configName: written };
    findings.problem(`${path}.data_type`, `is ${written}; a correlation id is one of ${correlationTypes.join(', ')}`);
    return undefined;
  }
  const [only] = given;
  if (given.length !== 1 || only === undefined) {
    findings.problem(path, `must have exactly one of ${truths.join(', ')}; it has ${given.length}`);
    return undefined;
  }
  const values = control[only] ?? [];
  if (values.length !== 2) {
    findings.problem(`${path}.${only}`, `must have two values, for false and for true; it has ${values.length}`);
    return undefined;
  }
  const [no, yes] = values.map(Number) as [number, number];
  switch (only) {
    case 'int32_false_true':
      return {
        name: 'INT32',
        configName: 'TYPE_INT32',
        values: [bytesOf(Int32Array.of(no)), bytesOf(Int32Array.of(yes))],
      };
    case 'fp32_false_true':
      return {
        name: 'FP32',
        configName: 'TYPE_FP32',
        values: [bytesOf(Float32Array.of(no)), bytesOf(Float32Array.of(yes))],
      };
    case 'bool_false_true':
      return { name: 'BOOL', configName: 'TYPE_BOOL', values: [Uint8Array.of(no), Uint8Array.of(yes)] };
  }
}

function bytesOf(values: Int32Array | Float32Array): Uint8Array {
  return new Uint8Array(values.buffer);
}

export function inputOf(name: string, graph: OnnxGraph, path: string, findings: Findings): OnnxTensor | undefined {
  const tensors = [...graph.inputs, ...graph.defaultedInputs];
  const tensor = tensors.find((candidate) => candidate.name === name);
  if (tensor === undefined) {
    const names = tensors.map((candidate) => candidate.name).join(', ');
    findings.problem(path, `the graph has no input ${JSON.stringify(name)}; it has ${names}`);
  }
  return tensor;
}

function checkTensor(
  tensor: OnnxTensor,
  configName: string,
  isBatched: boolean,
  path: string,
  findings: Findings,
): void {
  const datatype = datatypeFromElementType(tensor.elementType);
  if (datatype === undefined || datatypes[datatype].configName !== configName) {
    const found = datatype === undefined ? elementTypeName(tensor.elementType) : datatypes[datatype].configName;
    findings.problem(path, `is sent as ${configName}, but the graph has ${found} for ${JSON.stringify(tensor.name)}`);
  }
  const shape = freeShape(tensor);
  const wanted = isBatched ? [-1, 1] : [1];
  const fits =
    shape === undefined ||
    (shape.length === wanted.length && shape.every((size, axis) => size === -1 || size === wanted[axis]));
  if (fits) return;
  findings.problem(
    path,
    `${JSON.stringify(tensor.name)} has the shape [ ${shape.join(', ')} ] in the graph; a control has ` +
      `[ ${wanted.join(', ')} ]${isBatched ? ', one value a row' : ''}`,
  );
}
