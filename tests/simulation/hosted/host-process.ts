/**
 * A process with a stream host, over the shell that all of them share: when it dies, its steps are cancelled, the versions
 * that its streams hold are let go, its timers never fire, and nothing that it writes is kept.
 */
import { MemoryLedger, resolveMemoryLimits } from '@millrace/core';
import { Cancellation, type CancelSignal } from '@millrace/protocol';
import type { InferAnswer, InferRequest } from '@millrace/router';
import { payloadCodec } from '@millrace/router/edges';
import {
  LiveStreamModels,
  StreamHoldings,
  StreamHost,
  type StreamModels,
  type StreamObserver,
  type StreamPin,
} from '@millrace/router/internal';
import { defaultJournalBounds, type Journal, TableJournal } from '@millrace/store';
import type { OpenedShell } from '../shell.ts';
import type { SimulatedWorld } from '../world/simulated-world.ts';
import type { StreamHostWeather } from '../world/stream-host-weather.ts';
import { bentPin } from './bent-pin.ts';
import type { DiskOfProcess } from './simulated-disk.ts';

export type StreamHostParts = ConstructorParameters<typeof StreamHost>[0];
type InferMany = StreamHostParts['inference']['inferMany'];

/** Wall clocks do not begin with the process, as the clock of the data plane does. */
export const wallOffsetMs = 1_700_000_000_000;

export interface HostProcessParts {
  readonly world: SimulatedWorld;
  readonly weather: StreamHostWeather;
  readonly shell: Pick<OpenedShell, 'dataPlane' | 'models'>;
  readonly disk: DiskOfProcess;
  readonly judged: (journal: Journal) => Journal;
  readonly digestOf: (path: string) => Promise<string>;
  /** A step is asked for; returns what is called when it is over, with the reason if it was refused. */
  readonly onStep: (request: InferRequest) => (refusal?: unknown) => void;
  readonly bend: (parts: StreamHostParts) => StreamHostParts;
}

export class HostProcess {
  readonly host: StreamHost;
  readonly #parts: HostProcessParts;
  readonly #journal: Journal;
  readonly #steps = new Set<Cancellation>();
  readonly #pins = new Set<StreamPin>();
  readonly #unrestored = new Set<string>();
  #hasRestored: boolean = true;
  #isDead: boolean = false;

  constructor(parts: HostProcessParts) {
    this.#parts = parts;
    const { world, weather, shell, disk } = parts;
    const clock = this.#clock();
    const bounds = { ...defaultJournalBounds, logEntriesMax: Math.min(weather.logEntriesMax, 100_000) };
    this.#journal = new TableJournal(disk, { bounds, clock: { ...clock, now: clock.wallNow } });
    const models = new LiveStreamModels({
      inference: shell.dataPlane.inference,
      models: shell.models,
      digestOf: ({ path }) => parts.digestOf(path),
      // Its runs are requests like others, which no referee expects; simulated models are exact.
      exactness: { of: async () => undefined },
    });
    const real: StreamHostParts = {
      journal: parts.judged(this.#journal),
      models: this.#watchedModels(models),
      inference: { inferMany: (request, signal, flow) => this.#inferMany(request, signal, flow) },
      codec: payloadCodec,
      settings: weather.settings,
      // Its processes are killed from outside.
      earlierEnd: 'killed',
      clock,
      observer: observerFor(world),
      memory: new StreamHoldings({ ledger: new MemoryLedger(resolveMemoryLimits()), clock }),
    };
    this.host = new StreamHost(parts.bend(real));
  }

  get isDead(): boolean {
    return this.#isDead;
  }

  /** Versions that its streams hold. */
  get pins(): number {
    return this.#pins.size;
  }

  /** It could not take over a stream that another process left: whoever comes next tries again. */
  hasMissed(stream: string): boolean {
    return !this.#hasRestored || this.#unrestored.has(stream);
  }

  /** Whether a stream of it holds this revision. */
  holds(key: string): boolean {
    return [...this.#pins].some(({ revision }) => revision.key === key);
  }

  async restore(): Promise<void> {
    try {
      await this.host.restore((stream) => this.#unrestored.add(stream));
    } catch {
      this.#hasRestored = false;
    }
  }

  die(): void {
    if (this.#isDead) return;
    this.#isDead = true;
    this.#parts.disk.die();
    for (const step of [...this.#steps]) step.cancel('cancelled');
    for (const pin of [...this.#pins]) pin.release();
  }

  async close(): Promise<void> {
    // The timers of a process that is dead never fire, and its journal would wait for them.
    if (this.#isDead) return;
    await this.#journal.close();
    this.die();
  }

  #clock(): StreamHostParts['clock'] & { readonly wallNow: () => number } {
    const { clock } = this.#parts.world;
    const unlessDead = (callback: () => void) => (): void => {
      if (!this.#isDead) callback();
    };
    return {
      now: () => clock.now(),
      wallNow: () => wallOffsetMs + clock.now(),
      planeTimeOf: (wallMs) => wallMs - wallOffsetMs,
      after: (delayMs, callback) => clock.after(delayMs, unlessDead(callback)),
      alarm: (delayMs, callback) => clock.alarm(delayMs, unlessDead(callback)),
      endOfTurn: (callback) => clock.endOfTurn(unlessDead(callback)),
    };
  }

  #watchedModels(models: StreamModels): StreamModels {
    const watched = <Pin extends StreamPin | undefined>(pin: Pin): Pin => {
      if (pin === undefined) return pin;
      const held: StreamPin = bentPin(pin, {
        release: () => {
          this.#pins.delete(held);
          pin.release();
        },
      });
      this.#pins.add(held);
      if (this.#isDead) held.release();
      return held as Pin;
    };
    const unlessDead = (onRetired: () => void) => (): void => {
      if (!this.#isDead) onRetired();
    };
    return {
      pin: async (context, onRetired) => watched(await models.pin(context, unlessDead(onRetired))),
      pinAgain: async (model, version, onRetired) =>
        watched(await models.pinAgain(model, version, unlessDead(onRetired))),
      onServed: (model, version, callback) => models.onServed(model, version, unlessDead(callback)),
    };
  }

  async #inferMany(request: InferRequest, signal: CancelSignal, flow: Parameters<InferMany>[2]): Promise<InferAnswer> {
    if (this.#isDead) return new Promise(() => {});
    const step = new Cancellation();
    this.#steps.add(step);
    const onOver = this.#parts.onStep(request);
    const stopListening = signal.onCancel((reason) => step.cancel(reason));
    step.onCancel(() => onOver());
    let refusal: unknown;
    try {
      return await this.#parts.shell.dataPlane.inference.inferMany(request, step, flow);
    } catch (error) {
      refusal = error;
      throw error;
    } finally {
      stopListening();
      this.#steps.delete(step);
      if (step.reason === undefined) onOver(refusal);
    }
  }
}

/** What happens to streams is counted, so that a simulation in which something never happens is noticed. */
function observerFor(world: SimulatedWorld): StreamObserver {
  const count = (what: string): void => world.count(`streams: ${what}`);
  return {
    streamOpened: () => count('opened'),
    streamRefused: (code) => count(`refused ${code}`),
    streamResumed: (cause) => count(`resumed ${cause}`),
    streamRejoined: () => count('rejoined'),
    streamEnded: (outcome, code, isAbandoned) =>
      count(`ended ${outcome}${code === undefined ? '' : ` ${code}`}${isAbandoned ? ', abandoned' : ''}`),
    inputsLate: () => count('inputs late'),
    stepRepeated: () => count('step repeated'),
    streamPaused: () => count('stream paused'),
    stepPostponed: () => count('step postponed'),
    workerLost: () => count('worker lost'),
  };
}
