/** The workers of a router: they run steps with delays, die, hang, and give outputs within what they are granted. */
import type { StreamMachineAction, StreamMachineEvent } from '@millrace/core';
import type { SimulationRandom } from '../world/random.ts';
import type { Timeline } from '../world/timeline.ts';
import { modelRun, type SimulatedValue, simulatedValue } from './reference-run.ts';
import type { StreamWeather } from './stream-weather.ts';

type RunAction = StreamMachineAction<SimulatedValue> & { kind: 'run' };

interface RunningStep {
  readonly run: RunAction;
  readonly outputs: readonly SimulatedValue[];
  readonly saysLast: boolean;
  readonly state: SimulatedValue | undefined;
  outputsMax: number;
  given: number;
  isWaiting: boolean;
}

export class SimulatedSteps {
  readonly #timeline: Timeline;
  readonly #random: SimulationRandom;
  readonly #weather: StreamWeather;
  readonly #report: (event: StreamMachineEvent<SimulatedValue>) => void;
  readonly #running = new Map<number, RunningStep>();

  constructor(
    parts: { readonly timeline: Timeline; readonly random: SimulationRandom; readonly weather: StreamWeather },
    report: (event: StreamMachineEvent<SimulatedValue>) => void,
  ) {
    this.#timeline = parts.timeline;
    this.#random = parts.random;
    this.#weather = parts.weather;
    this.#report = report;
  }

  get running(): number {
    return this.#running.size;
  }

  run(run: RunAction): void {
    const made = modelRun(this.#weather.config.model, run.input.payload as SimulatedValue, run.state);
    // Only what should be given again is different, so that outputs that are not compared any more are still right.
    const otherCount = this.#weather.isDivergent ? run.journaledOutputs : 0;
    const outputs = made.outputs.map((output, index) =>
      index < otherCount ? simulatedValue(output.value + 1, 120) : output,
    );
    const step = { run, ...made, outputs, outputsMax: run.outputsMax, given: 0, isWaiting: false };
    this.#running.set(run.step, step);
    if (this.#isFaulty && this.#random.chance(this.#weather.hangShare)) {
      // The router kills a worker that does not answer.
      this.#timeline.after(2_000, () => this.#fail(step, true));
    } else {
      this.#later(() => this.#goOn(step));
    }
  }

  grant(id: number, outputsMax: number): void {
    const step = this.#running.get(id);
    if (step === undefined) return;
    step.outputsMax = outputsMax;
    if (!step.isWaiting) return;
    step.isWaiting = false;
    this.#later(() => this.#goOn(step));
  }

  cancel(id: number): void {
    this.#running.delete(id);
  }

  clear(): void {
    this.#running.clear();
  }

  get #isFaulty(): boolean {
    return this.#timeline.nowMs < this.#weather.faultsUntil;
  }

  #later(happen: () => void): void {
    this.#timeline.after(this.#random.next() * this.#weather.stepMsMax, happen);
  }

  #goOn(step: RunningStep): void {
    const { run, outputs } = step;
    if (!this.#running.has(run.step)) return;
    const { poisonInput, failingInput, deathShare } = this.#weather;
    const isKilled = this.#isFaulty && this.#random.chance(run.isAlone ? deathShare / 20 : deathShare);
    const isDeadly = run.input.sequence === poisonInput || isKilled;
    const payload = outputs[step.given];
    if (isDeadly || run.input.sequence === failingInput) {
      this.#fail(step, isDeadly);
    } else if (payload === undefined) {
      this.#running.delete(run.step);
      this.#report({ kind: 'step-done', step: run.step, state: step.state });
    } else if (this.#weather.config.model === 'decoupled' && step.given >= step.outputsMax) {
      step.isWaiting = true;
    } else {
      step.given += 1;
      const isLast = step.saysLast && step.given === outputs.length;
      this.#report({ kind: 'step-output', step: run.step, payload, isLast });
      this.#later(() => this.#goOn(step));
    }
  }

  #fail({ run }: RunningStep, hasWorkerDied: boolean): void {
    if (!this.#running.delete(run.step)) return;
    const code = hasWorkerDied ? 'worker-lost' : 'inference-failed';
    const error = { code, message: 'simulated' };
    this.#report({ kind: 'step-failed', step: run.step, error, hasWorkerDied, wasAlone: run.isAlone });
  }
}
