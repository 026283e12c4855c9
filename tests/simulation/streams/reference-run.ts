/** The undisturbed run: what the inputs of a seed are, and what the outputs have to be. */
import type { InputEntry, StreamModelKind } from '@millrace/core';
import type { StreamWeather } from './stream-weather.ts';

/** What an input, an output or a state holds: a number, and how large it claims to be. */
export interface SimulatedValue {
  readonly byteLength: number;
  readonly value: number;
  /** Of an input: whether it came on the link that counted at that time. */
  readonly isHeard?: boolean;
}

export interface ReferenceOutput {
  readonly input: number;
  readonly value: number | undefined;
  readonly isLast: boolean;
}

export function mixedHash(left: number, right: number): number {
  let state = Math.imul(left ^ 0x9e3779b9, 0x85ebca6b) ^ Math.imul(right + 0x7f4a7c15, 0xc2b2ae35);
  state = Math.imul(state ^ (state >>> 15), 0x2c1b3c6d);
  return (state ^ (state >>> 13)) >>> 0;
}

export function simulatedValue(value: number, bytesMax: number): SimulatedValue {
  return { value, byteLength: 1 + (value % bytesMax) };
}

export interface PlannedInput {
  readonly payload: SimulatedValue | undefined;
  readonly isLast: boolean;
  readonly eventTime: number | undefined;
}

export function plannedInput(seed: number, sequence: number, weather: StreamWeather): PlannedInput {
  const isLast = sequence === weather.inputs;
  const value = mixedHash(seed, sequence);
  const isLate = (value >>> 3) % 100 < weather.lateShare * 100;
  return {
    payload: isLast && weather.hasBareEnd ? undefined : simulatedValue(value, 150),
    isLast,
    eventTime: value % 7 === 0 ? undefined : sequence * 10 - (isLate ? 500 : 0),
  };
}

/** What a model makes of an input. */
export interface ModelRun {
  readonly outputs: readonly SimulatedValue[];
  readonly saysLast: boolean;
  readonly state: SimulatedValue | undefined;
}

/** What the model of a world makes of an input: the same in a worker and in the reference. */
export function modelRun(
  model: StreamWeather['config']['model'],
  input: SimulatedValue,
  state: SimulatedValue | undefined,
): ModelRun {
  if (model === 'independent')
    return { outputs: [simulatedValue(mixedHash(input.value, 1), 120)], saysLast: false, state: undefined };
  if (model === 'stateful') {
    const next = simulatedValue(mixedHash(state?.value ?? 0, input.value), 120);
    return { outputs: [next], saysLast: false, state: next };
  }
  const outputs = Array.from({ length: input.value % 6 }, (_, index) =>
    simulatedValue(mixedHash(input.value, index), 120),
  );
  return { outputs, saysLast: input.value % 2 === 0 && outputs.length > 0, state: undefined };
}

export class ReferenceRun {
  readonly outputs: ReferenceOutput[] = [];
  /** The state after each input, from 0. */
  readonly states: (SimulatedValue | undefined)[] = [undefined];
  /** Outputs up to the last of each input, from 0. */
  readonly outputsAfter: number[] = [0];
  readonly #model: StreamModelKind;
  readonly #run: (input: SimulatedValue, state: SimulatedValue | undefined) => ModelRun;

  constructor(model: StreamModelKind, run: (input: SimulatedValue, state: SimulatedValue | undefined) => ModelRun) {
    this.#model = model;
    this.#run = run;
  }

  apply({ sequence, payload, isDropped }: InputEntry<SimulatedValue>): void {
    const state = this.states.at(-1);
    if (payload === undefined || isDropped) {
      if (payload !== undefined) this.outputs.push({ input: sequence, value: undefined, isLast: true });
      this.states.push(state);
    } else {
      const run = this.#run(payload, state);
      const isLastMarked = this.#model !== 'decoupled' || run.saysLast;
      for (const [index, { value }] of run.outputs.entries()) {
        this.outputs.push({ input: sequence, value, isLast: isLastMarked && index === run.outputs.length - 1 });
      }
      if (!isLastMarked) this.outputs.push({ input: sequence, value: undefined, isLast: true });
      this.states.push(run.state);
    }
    this.outputsAfter.push(this.outputs.length);
  }
}
