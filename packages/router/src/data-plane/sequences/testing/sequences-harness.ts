/** A harness with a model that sums its sequences, and scripted workers. */

import { Cancellation, copyOf, type DispatchMessage, type TensorSpec } from '@millrace/protocol';
import type { ModelView } from '../../../model/model-view.ts';
import type { Sequencing } from '../../../model/sequencing.ts';
import type { SequenceStep } from '../../infer.ts';
import { ServedModel } from '../../served-model.ts';
import { testPolicy } from '../../testing/models.ts';
import { PlaneHarness, type Sent } from '../../testing/plane-harness.ts';
import type { RequestText } from '../../testing/requests.ts';
import type { ScriptedLink } from '../../testing/scripted-lane.ts';
import { SequenceRunner } from '../sequence-runner.ts';

const spec = (name: string, datatype: TensorSpec['datatype'] = 'INT32'): TensorSpec => ({
  name,
  datatype,
  shape: [-1, 1],
});

const view: ModelView = {
  name: 'm',
  version: '1',
  platform: 'onnxruntime_onnx',
  inputs: [spec('x')],
  outputs: [spec('y')],
  isBatched: true,
  rowsMax: 8,
  labels: new Map(),
  config: {},
};

const truths = { falseData: Uint8Array.of(0), trueData: Uint8Array.of(1) };

export function testSequencing(overrides: Partial<Sequencing['policy']> = {}, stateBytesMax = 1e6): Sequencing {
  const controls = [
    { kind: 'start', spec: spec('START', 'BOOL'), ...truths },
    { kind: 'end', spec: spec('END', 'BOOL'), ...truths },
    { kind: 'ready', spec: spec('READY', 'BOOL'), ...truths },
  ] as const;
  const state = {
    spec: { name: 's', datatype: 'INT32', shape: [-1, -1] },
    output: 1,
    initialShape: [1, 1],
    initialData: new Uint8Array(4),
  } as const;
  return {
    policy: {
      modelName: 'm',
      slotsMax: 4,
      backlogSequencesMax: 4,
      idleMsMax: 1000,
      slotWaitMsMax: 30_000,
      waitingStepsMax: 100,
      waitingBytesMax: 1e6,
      ...overrides,
    },
    engineView: {
      ...view,
      inputs: [...view.inputs, ...controls.map((control) => control.spec), state.spec],
      outputs: [...view.outputs, { name: 't', datatype: 'INT32', shape: [-1, -1] }],
    },
    controls,
    states: [state],
    stateBytesMax,
  };
}

export class SequencesHarness extends PlaneHarness {
  constructor(sequencing: Sequencing = testSequencing()) {
    super({}, new ServedModel(view, testPolicy, 1, 1, sequencing));
    const observer = this.observer.observerFor('m', '1');
    const { plane, clock } = this;
    const parts = { queue: plane.queue, clock, observer, sliced: plane.sliced };
    this.model.runner = new SequenceRunner(this.model, sequencing, parts);
  }

  step(value: number, id: SequenceStep['id'], flag: '' | 'start' | 'end' = '', more: Partial<RequestText> = {}): Sent {
    const sequence = { id, isStart: flag === 'start', isEnd: flag === 'end' };
    return this.sendWith(new Cancellation(), [value], undefined, { sequence, ...more });
  }
}

/** The rows that the worker got: the values of x, of the controls and of the state. */
export function dispatchedRows(dispatch: DispatchMessage | undefined): readonly string[] {
  if (dispatch === undefined) return [];
  const numbers = dispatch.inputs.map(({ data }, index) => [
    ...(index === 0 || index === 4 ? new Int32Array(copyOf(data).buffer) : data),
  ]);
  const [x = [], start = [], end = [], ready = [], state = []] = numbers;
  const width = state.length / x.length;
  return x.map((value, row) => {
    const flags = `${start[row] ? 'S' : '-'}${end[row] ? 'E' : '-'}${ready[row] ? 'R' : '-'}`;
    return `${value} ${flags} on ${state.slice(row * width, (row + 1) * width).join(',')}`;
  });
}

/** Answers the oldest batch as the model would: the sum, which is also the state; or with states of the given width. */
export function sums(link: ScriptedLink, stateWidth = 1): void {
  const [dispatch] = link.inFlight;
  if (dispatch === undefined) throw new Error('the worker has nothing to answer');
  const x = new Int32Array(copyOf(dispatch.inputs[0]?.data ?? new Uint8Array()).buffer);
  const state = new Int32Array(copyOf(dispatch.inputs[4]?.data ?? new Uint8Array()).buffer);
  const width = state.length / x.length;
  const totals = x.map((value, row) => value + (state[row * width] as number));
  const next = new Int32Array(x.length * stateWidth);
  for (const [row, total] of totals.entries()) next.fill(total, row * stateWidth, (row + 1) * stateWidth);
  const bytes = (values: Int32Array) => new Uint8Array(values.buffer);
  link.answers([
    { index: 0, shape: [x.length, 1], data: bytes(totals) },
    { index: 1, shape: [x.length, stateWidth], data: bytes(next) },
  ]);
}
