/**
 * Judges a world by the contract of durable streams. It knows what is durable and the undisturbed run, and shares no code
 * with the machine.
 */
import {
  type CheckpointEntry,
  type EndingEntry,
  type InputEntry,
  type LinkFrame,
  type OutputEntry,
  resolveStreamMachineConfig,
  type StreamEntry,
  type StreamMachineAction,
  type StreamMachineConfig,
  type StreamMachineCounts,
  type StreamMachineEvent,
} from '@millrace/core';
import { ReferenceRun, type SimulatedValue } from './reference-run.ts';
import type { StreamScript } from './stream-script.ts';

export class RuleBroken extends Error {}

const never = Number.POSITIVE_INFINITY;

export class StreamReferee {
  readonly #script: StreamScript;
  readonly reference: ReferenceRun;
  readonly #config: StreamMachineConfig;
  #durableInputs = 0;
  readonly #durableOutputs: OutputEntry<SimulatedValue>[] = [];
  #ending: EndingEntry | undefined;
  readonly #dropped = new Set<number>();
  /** The input of the last checkpoint. */
  #checkpointed = 0;
  #newestRouter = 0;
  #lastNumber = 0;
  #acknowledged = 0;
  #isCancelled: boolean = false;
  /** Links that got their last frame, or were closed. */
  readonly #closedLinks = new Set<number>();
  readonly #endedLinks = new Set<number>();
  /** The input of each step, by router. */
  readonly #steps = new Map<string, { readonly input: number; readonly isAlone: boolean }>();
  /** Workers that died while they ran the input in quarantine, by router. */
  readonly #suspectDeaths = new Map<string, number>();
  /** What each router held when it began. */
  readonly #firstCounts = new Map<number, StreamMachineCounts>();
  /** When a router last had or heard of a client; undefined: nobody says. */
  #clientAt: number | undefined;
  /** Routers that were told that the journal is scarce. */
  readonly #scarce = new Set<number>();
  #wasScarce: boolean = false;
  readonly #seen: Map<string, number>;

  constructor(script: StreamScript, seen: Map<string, number>) {
    this.#script = script;
    this.#config = resolveStreamMachineConfig(script.config);
    this.reference = new ReferenceRun(script.config.model, (input, state) => script.run(input, state));
    this.#seen = seen;
  }

  /** The number of the last entry that is known to be durable. */
  get lastNumber(): number {
    return this.#lastNumber;
  }

  get ending(): EndingEntry | undefined {
    return this.#ending;
  }

  fail(message: string): never {
    throw new RuleBroken(message);
  }

  noteAcknowledged(output: number): void {
    if (this.#script.isAcknowledging) this.#acknowledged = Math.max(this.#acknowledged, output);
  }

  noteCancelled(): void {
    this.#isCancelled = true;
  }

  /** The client of a router is closed, or dies with it. */
  noteClientGone(nowMs: number): void {
    this.#clientAt = nowMs;
  }

  noteEvent(router: number, event: StreamMachineEvent<SimulatedValue>, nowMs: number): void {
    this.#see(event.kind);
    if (event.kind === 'attached' || event.kind === 'detached') this.#clientAt = nowMs;
    if (event.kind === 'journal') {
      this.#wasScarce ||= event.isScarce;
      if (event.isScarce) this.#scarce.add(router);
      else this.#scarce.delete(router);
    }
    if (event.kind !== 'step-failed' || !event.hasWorkerDied) return;
    const step = this.#steps.get(`${router} ${event.step}`);
    if (step?.isAlone !== true || !event.wasAlone) return;
    const key = `${router} ${step.input}`;
    this.#suspectDeaths.set(key, (this.#suspectDeaths.get(key) ?? 0) + 1);
  }

  noteAction(router: number, action: StreamMachineAction<SimulatedValue>): void {
    this.#newestRouter = Math.max(this.#newestRouter, router);
    this.#see(action.kind === 'send' ? `send ${action.frame.kind}` : action.kind);
    if (action.kind === 'append' && action.entry.kind === 'input' && action.entry.payload?.isHeard === false) {
      this.fail(`input ${action.entry.sequence} of a link that no longer counts was applied`);
    }
    if (action.kind === 'append' && this.#scarce.has(router)) this.#checkScarce(action.entry.kind);
    if (action.kind === 'run') {
      this.#steps.set(`${router} ${action.step}`, { input: action.input.sequence, isAlone: action.isAlone });
      this.checkRun(action.input, action.state, router < this.#newestRouter);
    }
    if (action.kind === 'close-link') {
      this.noteClosed(action.link, action.error.code);
    }
    if (action.kind === 'send') this.checkSent(action.link, action.frame);
    const isRemoved = action.kind === 'finished' || action.kind === 'parked';
    if (isRemoved && this.#ending === undefined) this.fail('a stream without an ending is removed');
  }

  noteClosed(link: number, code: string): void {
    this.#see(`close-link ${code}`);
    if (this.#closedLinks.has(link)) this.fail('a link is closed twice');
    this.#closedLinks.add(link);
  }

  /** An entry was added to the log. */
  noteDurable(entry: StreamEntry<SimulatedValue>, number: number): void {
    if (number !== this.#lastNumber + 1) this.fail(`entry ${number} follows entry ${this.#lastNumber} in the log`);
    this.#lastNumber = number;
    if (this.#ending !== undefined) this.fail(`an entry of kind ${entry.kind} follows the ending`);
    switch (entry.kind) {
      case 'opening':
        if (number !== 1) this.fail('a log has a second opening');
        break;
      case 'input': {
        if (entry.sequence !== this.#durableInputs + 1) this.fail(`input ${entry.sequence} is journaled out of order`);
        const planned = this.#script.planned(entry.sequence);
        if (planned.payload?.value !== entry.payload?.value || planned.isLast !== entry.isLast) {
          this.fail(`input ${entry.sequence} is journaled with other contents`);
        }
        if (entry.isDropped) {
          this.#see('input dropped');
          this.#dropped.add(entry.sequence);
        }
        this.#durableInputs += 1;
        this.reference.apply(entry);
        break;
      }
      case 'output':
        this.#checkOutput(entry);
        this.#durableOutputs.push(entry);
        break;
      case 'checkpoint':
        this.#checkCheckpoint(entry);
        this.#checkpointed = entry.input;
        break;
      case 'ending':
        this.#ending = entry;
        this.#checkEnding(entry);
        this.#see(`ended ${entry.outcome} ${entry.error?.code ?? ''}`.trim());
        if (entry.outputs !== this.#durableOutputs.length) this.fail('the ending names another number of outputs');
        break;
    }
  }

  /** The log was trimmed to these entries. */
  noteTrim(entries: readonly StreamEntry<SimulatedValue>[]): void {
    const kept = new Set<number>();
    for (const entry of entries) if (entry.kind === 'output') kept.add(entry.sequence);
    const { retainedOutputsMax, scarceBytesMax } = this.#config;
    const retainedBytesMax = Math.min(this.#config.retainedBytesMax, this.#wasScarce ? scarceBytesMax : never);
    let bytes = 0;
    const outputs = this.#durableOutputs;
    for (let count = 1; count <= outputs.length; count++) {
      const output = outputs[outputs.length - count] as OutputEntry<SimulatedValue>;
      bytes += output.payload?.byteLength ?? 0;
      const isInRetention = count <= retainedOutputsMax && (count === 1 || bytes <= retainedBytesMax);
      const isNeeded = this.#script.isAcknowledging ? output.sequence > this.#acknowledged : isInRetention;
      if (isNeeded && !kept.has(output.sequence)) this.fail(`output ${output.sequence} was trimmed too early`);
    }
  }

  checkBounds(router: number, counts: StreamMachineCounts, runningSteps: number): void {
    const config = this.#config;
    // A restored stream may begin with more: acknowledgements are journaled by checkpoints only.
    const first = this.#firstCounts.get(router) ?? counts;
    this.#firstCounts.set(router, first);
    const stepsMax = config.model === 'independent' ? config.stepsMax : 1;
    const ahead = Math.max(config.outputsAheadMax, stepsMax) + 1;
    const outputsMax = config.retainedOutputsMax + ahead;
    // After a restore the inputs since the last checkpoint are pending again.
    const replayed = config.model === 'stateful' ? config.checkpointInputsMax : 0;
    const pendingMax = config.pendingInputsMax + replayed;
    const entriesNeeded = 2 + outputsMax + pendingMax;
    this.#bound('waiting inputs', counts.waitingInputs, config.reorderInputsMax + 1);
    this.#bound('waiting bytes', counts.waitingBytes, config.reorderBytesMax + config.inputBytesMax);
    this.#bound('pending inputs', counts.pendingInputs, pendingMax);
    this.#bound('pending bytes', counts.pendingBytes, config.pendingBytesMax + replayed * config.inputBytesMax);
    this.#bound('retained outputs', counts.retainedOutputs, Math.max(first.retainedOutputs, outputsMax));
    this.#bound(
      'retained bytes',
      counts.retainedBytes,
      Math.max(first.retainedBytes, config.retainedBytesMax + ahead * 120),
    );
    this.#bound('steps', Math.max(counts.runningSteps, runningSteps), stepsMax);
    this.#bound('log entries', counts.logEntries, 4 * entriesNeeded + config.staleEntriesMin + 32);
  }

  /** Outputs that a transport was given and has not taken. */
  checkUnsent(outputs: number): void {
    this.#bound('unsent outputs', outputs, this.#config.unsentOutputsMax);
  }

  /** A client is told that the inputs up to this one are durable. */
  checkAccepted(input: number): void {
    if (input > this.#durableInputs) this.fail(`input ${input} is accepted before it is durable`);
  }

  /** A frame goes to a link. */
  checkSent(link: number, frame: LinkFrame<SimulatedValue>): void {
    if (this.#closedLinks.has(link)) this.fail(`a closed link is sent ${frame.kind}`);
    if (this.#endedLinks.has(link)) this.fail(`${frame.kind} follows ended`);
    if (frame.kind === 'opened' || frame.kind === 'accepted') {
      this.checkAccepted(frame.acceptedInput);
    } else if (frame.kind === 'output') {
      if (frame.output.sequence > this.#durableOutputs.length)
        this.fail(`output ${frame.output.sequence} is sent before it is durable`);
    } else if (frame.kind === 'ended') {
      this.#endedLinks.add(link);
      const ending = this.#ending;
      if (ending === undefined) this.fail('ended is sent before it is durable');
      if (
        ending.outcome !== frame.outcome ||
        ending.error?.code !== frame.error?.code ||
        ending.outputs !== frame.outputs
      ) {
        this.fail('ended differs from what is durable');
      }
    }
  }

  /** A step begins. `isReplaced`: another router has taken the stream over, of whose checkpoints this one does not know. */
  checkRun(input: InputEntry<SimulatedValue>, state: SimulatedValue | undefined, isReplaced: boolean = false): void {
    const isDropped = input.isDropped || this.#dropped.has(input.sequence);
    if (isDropped || input.payload === undefined) this.fail(`input ${input.sequence} is run, and is not to be`);
    if (!isReplaced && input.sequence <= this.#checkpointed) {
      this.fail(`input ${input.sequence} is run after a checkpoint behind it`);
    }
    const before = this.reference.states[input.sequence - 1];
    // The input before may not be durable yet; then its output will tell.
    if (input.sequence - 1 > this.#durableInputs) return;
    if (this.#script.isDivergent) return;
    if (before?.value !== state?.value)
      this.fail(`input ${input.sequence} runs with another state than after input ${input.sequence - 1}`);
  }

  /** An output arrived at a client. */
  checkReceived(output: OutputEntry<SimulatedValue>): void {
    const durable = this.#durableOutputs[output.sequence - 1];
    if (durable?.payload?.value !== output.payload?.value || durable?.input !== output.input) {
      this.fail(`output ${output.sequence} differs from what is durable`);
    }
  }

  /** A client got `ended` after it had handled so many outputs. */
  checkEnded(frame: LinkFrame<SimulatedValue> & { kind: 'ended' }, handled: number): void {
    const isCutShort = frame.outcome === 'cancelled' || frame.outcome === 'expired';
    if (!isCutShort && handled !== frame.outputs)
      this.fail(`a client got ended after ${handled} of ${frame.outputs} outputs`);
  }

  /** The world is over. */
  checkEnd(outcomes: readonly (string | undefined)[], mayMissEnd: boolean, isRemoved: boolean): void {
    for (const [id, outcome] of outcomes.entries()) {
      if (outcome === undefined) this.fail(`client ${id} waits for ever`);
      this.#see(`client: ${outcome}`);
      if (outcome === 'stream-not-found' && !mayMissEnd)
        this.fail('the stream was removed before its client saw the end');
    }
    if (this.#ending === undefined) this.fail('the stream has no ending');
    if (!isRemoved) this.fail('the log of an ended stream is kept for ever');
  }

  /** What a stream may append while its owner has its share of the journal. */
  #checkScarce(kind: string): void {
    this.#see(`append ${kind} while scarce`);
    if (kind === 'input' || kind === 'output') this.fail(`an ${kind} is appended while the journal is scarce`);
  }

  #see(name: string): void {
    this.#seen.set(name, (this.#seen.get(name) ?? 0) + 1);
  }

  #bound(name: string, count: number, max: number): void {
    if (count > max) this.fail(`${name}: ${count}, at most ${max} are allowed`);
  }

  #checkOutput(entry: OutputEntry<SimulatedValue>): void {
    const { sequence } = entry;
    if (sequence !== this.#durableOutputs.length + 1) this.fail(`output ${sequence} is journaled out of order`);
    const expected = this.reference.outputs[sequence - 1];
    if (
      expected === undefined ||
      expected.input !== entry.input ||
      expected.value !== entry.payload?.value ||
      expected.isLast !== entry.isLast
    ) {
      this.fail(`output ${sequence} differs from the undisturbed run`);
    }
  }

  #checkCheckpoint(entry: CheckpointEntry<SimulatedValue>): void {
    const { input, state, outputs, partialOutputs } = entry;
    if (input > this.#durableInputs) this.fail(`a checkpoint names input ${input}, which is not durable`);
    if (this.reference.states[input]?.value !== state?.value)
      this.fail(`the state of the checkpoint is not that after input ${input}`);
    if (outputs !== this.#durableOutputs.length) this.fail('a checkpoint names another number of outputs');
    if (outputs !== (this.reference.outputsAfter[input] ?? -1) + partialOutputs) {
      this.fail(`a checkpoint after input ${input} lacks outputs, or has too many`);
    }
    if (entry.acknowledgedOutput > this.#acknowledged) this.fail('a checkpoint acknowledges what no client has');
  }

  #checkEnding({ outcome, error, outputs, endedAt }: EndingEntry): void {
    // Routers that start again and again must not keep a stream that nobody resumes; what is added is for the time without a router.
    const { resumeWindowMs, resumeGraceMs } = this.#config;
    const expiresAtMax = (this.#clientAt ?? never) + resumeWindowMs + resumeGraceMs + 5_000;
    if (outcome === 'expired' && endedAt > expiresAtMax) {
      this.fail(`a stream without a client since ${this.#clientAt} expires only at ${endedAt}`);
    }
    if (outcome === 'done') {
      if (outputs < this.reference.outputs.length) this.fail('a stream is done before all inputs are answered');
      return;
    }
    const code = error?.code ?? '';
    const isDeadly = [...this.#suspectDeaths.values()].some((deaths) => deaths >= this.#config.suspectDeathsMax);
    const isExpected = (code === 'cancelled' && this.#isCancelled) || (code === 'poison-request' && isDeadly);
    if (!isExpected && !this.#script.mayEnd(code)) {
      this.fail(`the stream ends ${outcome}: ${code}, for no reason: ${error?.message}`);
    }
  }
}
