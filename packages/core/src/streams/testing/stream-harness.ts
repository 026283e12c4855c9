/** A stream machine with a journal in memory, for tests: actions are kept as short texts, commits happen when asked for. */
import type { SizedPayload, StreamEntry } from '../stream-entries.ts';
import { StreamMachine } from '../stream-machine.ts';
import type { StreamMachineConfig } from '../stream-machine-config.ts';
import type {
  ArrivedInput,
  IdleSince,
  LinkFrame,
  StreamMachineAction,
  StreamMachineEvent,
} from '../stream-machine-events.ts';

export interface TextPayload extends SizedPayload {
  readonly text: string;
}

export function textPayload(text: string, byteLength: number = text.length): TextPayload {
  return { text, byteLength };
}

export function textInput(
  sequence: number,
  options: Partial<ArrivedInput<TextPayload>> = {},
): ArrivedInput<TextPayload> {
  return {
    sequence,
    payload: textPayload(`in${sequence}`),
    isLast: false,
    eventTime: undefined,
    deadlineAt: Number.POSITIVE_INFINITY,
    ...options,
  };
}

export class StreamHarness {
  readonly #options: {
    config: Partial<StreamMachineConfig>;
    isSame: (left: TextPayload, right: TextPayload) => boolean;
  };
  machine: StreamMachine<TextPayload>;
  log: StreamEntry<TextPayload>[] = [];
  snapshot: readonly StreamEntry<TextPayload>[] = [];
  base = 0;
  nowMs = 0;
  /** As it was journaled last. */
  idle: IdleSince | undefined;
  #appended = 0;
  #taken: string[] = [];
  readonly actions: StreamMachineAction<TextPayload>[] = [];

  constructor(config: Partial<StreamMachineConfig> = {}) {
    this.#options = { config, isSame: (left, right) => left.text === right.text };
    const opening = { kind: 'opening', payload: textPayload('opening'), expiresAt: 3_600_000 } as const;
    this.machine = StreamMachine.open(opening, this.#options, 0);
    this.#collect();
  }

  /** What the machine did since the last call, `wake-at` and `idle` left out. */
  take(): readonly string[] {
    const taken = this.#taken;
    this.#taken = [];
    return taken;
  }

  handle(...events: readonly StreamMachineEvent<TextPayload>[]): this {
    for (const event of events) this.machine.handle(event, this.nowMs);
    this.#collect();
    return this;
  }

  attach(
    link: number = 1,
    resumeAfter: number = 0,
    options: { messages?: number; isAcknowledging?: boolean; clientId?: string; attempt?: number } = {},
  ): this {
    const credit = { messages: options.messages ?? 100, bytes: 1_000 };
    const isAcknowledging = options.isAcknowledging ?? true;
    const { clientId, attempt } = options;
    return this.handle({ kind: 'attached', link, resumeAfter, credit, isAcknowledging, clientId, attempt });
  }

  input(sequence: number, options: Partial<ArrivedInput<TextPayload>> = {}, link: number = 1): this {
    return this.handle({ kind: 'input', link, input: textInput(sequence, options) });
  }

  /** Everything appended so far is durable. */
  commit(): this {
    return this.handle({ kind: 'committed', number: this.#appended });
  }

  done(step: number, text: string, state?: string): this {
    return this.handle(
      { kind: 'step-output', step, payload: textPayload(text), isLast: false },
      { kind: 'step-done', step, state: state === undefined ? undefined : textPayload(state) },
    );
  }

  died(step: number, wasAlone: boolean): this {
    const error = { code: 'worker-lost', message: 'killed' };
    return this.handle({ kind: 'step-failed', step, error, hasWorkerDied: true, wasAlone });
  }

  /** Time passes, and the machine is woken. */
  wait(ms: number): this {
    this.nowMs += ms;
    return this.handle({ kind: 'tick' });
  }

  /** The owner dies after so many entries of the log became durable; another one takes over. */
  restart(entries: number = this.#appended): this {
    this.log = this.log.slice(0, entries - this.base);
    this.#appended = entries;
    this.machine = StreamMachine.restore(
      [...this.snapshot, ...this.log],
      entries,
      this.#options,
      this.nowMs,
      this.idle,
    );
    this.#collect();
    return this;
  }

  #collect(): void {
    for (const action of this.machine.takeActions()) {
      this.actions.push(action);
      if (action.kind === 'append') {
        this.#appended = action.number;
        this.log = [...this.log.slice(0, action.number - this.base - 1), action.entry];
      }
      if (action.kind === 'trim') {
        this.log = this.log.slice(action.to - this.base);
        this.base = action.to;
        this.snapshot = action.snapshot;
      }
      if (action.kind === 'idle') this.idle = action.idle;
      if (action.kind !== 'wake-at' && action.kind !== 'idle') this.#taken.push(textOf(action));
    }
  }
}

function textOf(action: StreamMachineAction<TextPayload>): string {
  switch (action.kind) {
    case 'append':
      return `append ${entryText(action.entry)}`;
    case 'trim':
      return `trim ${action.to}: ${action.snapshot.map(entryText).join(', ')}`;
    case 'send':
      return `send ${action.link} ${frameText(action.frame)}`;
    case 'run':
      return `run ${action.step} ${action.input.payload?.text} state=${action.state?.text ?? '-'}${action.isAlone ? ' alone' : ''}`;
    case 'grant':
      return `grant ${action.step} ${action.outputsMax}`;
    case 'cancel-step':
      return `cancel-step ${action.step}`;
    case 'close-link':
      return `close-link ${action.link} ${action.error.code}`;
    case 'wake-at':
      return `wake-at ${action.at}`;
    case 'idle':
      return `idle ${action.idle === undefined ? 'no' : `${action.idle.sinceMs}${action.idle.isExtended ? ' extended' : ''}`}`;
    case 'parked':
      return `parked until ${action.resumableUntil}`;
    case 'finished':
      return 'finished';
    case 'release':
      return `release ${action.error.code}`;
  }
}

function entryText(entry: StreamEntry<TextPayload>): string {
  switch (entry.kind) {
    case 'opening':
      return 'opening';
    case 'input':
      return `input ${entry.sequence}${entry.isLast ? ' last' : ''}${entry.isDropped ? ' dropped' : ''}`;
    case 'output':
      return `output ${entry.sequence} ${entry.payload?.text ?? '-'}${entry.isLast ? ' last' : ''}`;
    case 'checkpoint':
      return `checkpoint ${entry.input} state=${entry.state?.text ?? '-'}`;
    case 'ending':
      return `ending ${entry.outcome}${entry.error === undefined ? '' : ` ${entry.error.code}`} ${entry.outputs}`;
  }
}

function frameText(frame: LinkFrame<TextPayload>): string {
  switch (frame.kind) {
    case 'opened':
      return `opened ${frame.acceptedInput} next=${frame.nextOutput}`;
    case 'accepted':
      return `accepted ${frame.acceptedInput}`;
    case 'output':
      return entryText(frame.output);
    case 'draining':
      return 'draining';
    case 'ended':
      return `ended ${frame.outcome}${frame.error === undefined ? '' : ` ${frame.error.code}`} ${frame.outputs}`;
  }
}
