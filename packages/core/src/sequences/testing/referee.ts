/**
 * Judges a sequencer by what it was told and what it said, kept in the plainest way: lists that are searched, nothing
 * shared with the sequencer. Throws at the first rule that is broken.
 */
import { reclaimMsOf, type SequencePolicy } from '../sequence-policy.ts';
import type { SequencerCounts } from '../sequencer.ts';
import type { ArrivedStep, SequencerAction, SequencerEvent } from '../sequencer-events.ts';

type Fate = 'waiting' | 'running' | 'answered' | 'failed' | 'refused';

interface KnownStep {
  readonly arrived: ArrivedStep;
  readonly at: number;
  fate: Fate;
  sequence: number;
  settledAt: number;
}

export class SequenceReferee {
  readonly steps: KnownStep[] = [];
  readonly #policy: SequencePolicy;
  readonly #live = new Set<number>();
  readonly #over = new Set<number>();
  wakeAt = Number.POSITIVE_INFINITY;
  isClosed: boolean = false;

  constructor(policy: SequencePolicy) {
    this.#policy = policy;
  }

  with(fate: Fate): readonly KnownStep[] {
    return this.steps.filter((step) => step.fate === fate);
  }

  told(event: SequencerEvent, now: number): void {
    if (event.kind === 'step-arrived') {
      this.steps.push({ arrived: event.step, at: now, fate: 'waiting', sequence: 0, settledAt: 0 });
    } else if (event.kind === 'step-answered' || event.kind === 'step-failed') {
      const step = this.#stepOf(event.step);
      step.fate = event.kind === 'step-answered' ? 'answered' : 'failed';
      step.settledAt = now;
    } else if (event.kind === 'tick' && now >= this.wakeAt) this.wakeAt = Number.POSITIVE_INFINITY;
  }

  said(action: SequencerAction, now: number): void {
    if (action.kind === 'run') this.#ran(action);
    else if (action.kind === 'refuse') {
      const step = this.#stepOf(action.step);
      must(step.fate === 'waiting', `step ${action.step} is refused although it is ${step.fate}`);
      const isBehindFailure = action.code === 'inference-failed' || action.code === 'worker-lost';
      must(!isBehindFailure || !step.arrived.isStart, 'a start does not depend on what came before it');
      step.fate = 'refused';
      step.settledAt = now;
    } else if (action.kind === 'cancel-run') {
      must(this.#stepOf(action.step).fate === 'running', 'only what runs is cancelled');
    } else if (action.kind === 'forget') this.#forgot(action, now);
    else if (action.kind === 'wake-at') this.wakeAt = action.at;
    else {
      must(!this.isClosed && this.#live.size === 0, 'closed is said once, when nothing lives');
      this.isClosed = true;
    }
  }

  #ran(action: Extract<SequencerAction, { kind: 'run' }>): void {
    const step = this.#stepOf(action.step);
    must(step.fate === 'waiting', `step ${action.step} is run although it is ${step.fate}`);
    must(!this.#over.has(action.sequence), 'nothing runs in a sequence that is over');
    must(action.isStart === step.arrived.isStart, 'a step starts if it says so');
    const before = this.steps.filter((other) => other.sequence === action.sequence);
    must(!before.some(({ fate }) => fate === 'running'), 'one step of a sequence runs at a time');
    must(
      before.every((other) => other.arrived.step < action.step),
      'steps of a sequence run in the order of arrival',
    );
    must(
      before.every((other) => isOfSameId(other, step)),
      'a sequence has one owner and one id',
    );
    if (!action.isStart) {
      const previous = this.steps.filter((other) => isOfSameId(other, step) && other.arrived.step < action.step);
      const last = previous.at(-1);
      must(
        last?.fate === 'answered' && last.sequence === action.sequence,
        'no step runs unless the one before it was answered',
      );
      must(last?.arrived.isEnd === false, 'nothing goes on after the end');
    }
    step.fate = 'running';
    step.sequence = action.sequence;
    this.#live.add(action.sequence);
    must(this.#live.size <= this.#policy.slotsMax, 'no more sequences live than there are slots');
  }

  #forgot({ sequence, reason }: Extract<SequencerAction, { kind: 'forget' }>, now: number): void {
    must(this.#live.delete(sequence), 'a sequence that was run is forgotten once');
    this.#over.add(sequence);
    const steps = this.steps.filter((step) => step.sequence === sequence);
    must(!steps.some(({ fate }) => fate === 'running'), 'no sequence is forgotten while it runs');
    const last = steps.at(-1);
    must(last !== undefined, 'a forgotten sequence had steps');
    if (reason === 'ended') must(last.arrived.isEnd && last.fate === 'answered', 'a sequence ends by its end');
    if (reason === 'idle') {
      must(last.fate === 'answered' && !last.arrived.isEnd, 'only an open sequence is idle');
      must(now >= last.settledAt + this.#policy.idleMsMax, 'no sequence is ended before its time');
    }
  }

  /** After the actions of an event. */
  settled(counts: SequencerCounts, now: number): void {
    const waiting = this.with('waiting');
    must(counts.waitingSteps === waiting.length, 'the steps that wait are counted');
    must(counts.waitingBytes === waiting.reduce((sum, { arrived }) => sum + arrived.bytes, 0), 'and their bytes');
    must(counts.liveSequences >= this.#live.size, 'what was run and not forgotten lives');
    must(counts.backlogSequences <= this.#policy.backlogSequencesMax, 'the backlog is bounded');
    must(waiting.length <= this.#policy.waitingStepsMax, 'the steps that wait are bounded');
    if (counts.backlogSequences > 0)
      must(counts.liveSequences === this.#policy.slotsMax, 'no slot idles beside a backlog');
    must(!waiting.some(({ arrived }) => arrived.deadlineAt <= now), 'no step waits beyond its deadline');
    for (const sequence of this.#live) {
      const last = this.steps.filter((step) => step.sequence === sequence).at(-1);
      const hasMore = last !== undefined && waiting.some((other) => isOfSameId(other, last));
      if (last?.fate === 'answered' && !hasMore) {
        must(now < last.settledAt + this.#policy.idleMsMax, 'no sequence outlives its idle time');
        must(this.wakeAt <= last.settledAt + this.#policy.idleMsMax, 'and a wake-up is requested in time');
      }
    }
    this.#checkShares(waiting, now);
    for (const { arrived } of waiting)
      must(this.wakeAt <= arrived.deadlineAt, 'a wake-up is requested for every deadline');
  }

  /** Who has less than its share does not wait for long beside somebody who has more and does not use it. */
  #checkShares(waiting: readonly KnownStep[], now: number): void {
    const lives = [...this.#live].map((sequence) => this.steps.filter((step) => step.sequence === sequence));
    const liveOf = (owner: string): number => lives.filter(([first]) => first?.arrived.owner === owner).length;
    const begun = (step: KnownStep): boolean =>
      lives.some((steps) => isOfSameId(steps[0] as KnownStep, step) && steps.at(-1)?.arrived.isEnd === false);
    const inBacklog = waiting.filter((step) => step.arrived.isStart && !begun(step));
    const owners = new Set([...lives.flat(), ...inBacklog].map(({ arrived }) => arrived.owner));
    const share = Math.max(1, Math.floor(this.#policy.slotsMax / owners.size));
    // One that runs may be the last step of a sequence that gives up its slot.
    if (lives.some((steps) => steps.at(-1)?.fate !== 'answered')) return;
    for (const { arrived, at } of inBacklog) {
      if (now < at + reclaimMsOf(this.#policy) || liveOf(arrived.owner) >= share) continue;
      for (const owner of owners) must(liveOf(owner) <= share, 'a slot over the share goes to one who waits');
    }
  }

  #stepOf(id: number): KnownStep {
    const step = this.steps.find(({ arrived }) => arrived.step === id);
    must(step !== undefined, `step ${id} is known`);
    return step;
  }
}

/** The same digits of two owners, or as number and as text, are different. */
function isOfSameId({ arrived: one }: KnownStep, { arrived: other }: KnownStep): boolean {
  return one.owner === other.owner && one.id === other.id;
}

function must(claim: boolean, rule: string): asserts claim {
  if (!claim) throw new Error(`broken rule: ${rule}`);
}
