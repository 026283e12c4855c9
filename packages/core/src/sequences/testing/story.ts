/** Sends events to a sequencer in short form, and returns its decisions as text. */
import type { ErrorCode } from '@millrace/protocol';
import type { SequencePolicy } from '../sequence-policy.ts';
import { Sequencer, type SequencerCounts } from '../sequencer.ts';
import type { ArrivedStep, SequencerAction, SequencerEvent } from '../sequencer-events.ts';

export function resolveTestPolicy(overrides: Partial<SequencePolicy>): SequencePolicy {
  return {
    modelName: 'm',
    slotsMax: 8,
    backlogSequencesMax: 8,
    idleMsMax: 1e6,
    slotWaitMsMax: Number.POSITIVE_INFINITY,
    waitingStepsMax: 100,
    waitingBytesMax: 1000,
    ...overrides,
  };
}

type StepOptions = Partial<Pick<ArrivedStep, 'owner' | 'bytes' | 'deadlineAt' | 'slotWaitMsMax'>>;

export class Story {
  readonly #sequencer: Sequencer;
  #now = 0;
  /** The messages of refused steps. */
  messages: string[] = [];

  constructor(overrides: Partial<SequencePolicy> = {}) {
    this.#sequencer = new Sequencer(resolveTestPolicy(overrides));
  }

  arrives(step: number, id: bigint | string, flag: '' | 'start' | 'end' = '', options: StepOptions = {}): this {
    const limits = {
      owner: 'o',
      bytes: 4,
      deadlineAt: Number.POSITIVE_INFINITY,
      slotWaitMsMax: Number.POSITIVE_INFINITY,
    };
    const flags = { isStart: flag === 'start', isEnd: flag === 'end' };
    return this.#tell({ kind: 'step-arrived', step: { step, id, ...flags, ...limits, ...options } });
  }

  answered(step: number): this {
    return this.#tell({ kind: 'step-answered', step });
  }

  failed(step: number, code: ErrorCode): this {
    return this.#tell({ kind: 'step-failed', step, code, message: 'it failed' });
  }

  cancelled(step: number): this {
    return this.#tell({ kind: 'step-cancelled', step, reason: 'cancelled' });
  }

  overShare(owner: string): this {
    return this.#tell({ kind: 'owner-over-share', owner });
  }

  begunElsewhere(owner: string, id: bigint | string): this {
    return this.#tell({ kind: 'begun-elsewhere', owner, id });
  }

  closing(kind: 'closing' | 'closing-at-once' | 'reopened' = 'closing'): this {
    return this.#tell({ kind });
  }

  tick(): this {
    return this.#tell({ kind: 'tick' });
  }

  after(ms: number): this {
    this.#now += ms;
    return this;
  }

  /** What was decided since the last call. Times to wake for idleness are left out while idleness is far. */
  take(): string[] {
    const actions = this.#sequencer.takeActions();
    for (const action of actions) if (action.kind === 'refuse') this.messages.push(action.message);
    return actions.filter((action) => action.kind !== 'wake-at' || action.at < 1e6).map(textOf);
  }

  counts(): SequencerCounts {
    return this.#sequencer.counts();
  }

  waitsForSlot(step: number): boolean {
    return this.#sequencer.waitsForSlot(step);
  }

  #tell(event: SequencerEvent): this {
    this.#sequencer.handle(event, this.#now);
    return this;
  }
}

function textOf(action: SequencerAction): string {
  switch (action.kind) {
    case 'run':
      return `run ${action.step} of #${action.sequence}${action.isStart ? ' anew' : ''}`;
    case 'refuse':
      return `refuse ${action.step}: ${action.code}`;
    case 'cancel-run':
      return `cancel-run ${action.step}: ${action.reason}`;
    case 'forget':
      return `forget #${action.sequence}: ${action.reason}`;
    case 'wake-at':
      return `wake at ${action.at}`;
    case 'closed':
      return 'closed';
  }
}
