/** Options of a request in the embedding API, besides its inputs; checked at run time, because not every caller uses TypeScript. */
import { InferenceError, quote } from '@millrace/protocol';
import type { Origin, SequenceStep } from '@millrace/router';
import { sequenceIdMax, sequenceStepFrom, takeSequenceId } from '@millrace/router/edges';
import { didYouMean } from './config/suggest.ts';

export interface InferOptions {
  readonly version?: string;
  readonly id?: string;
  /** Only these, in this order; all when left out. */
  readonly outputs?: readonly string[];
  /** Deadline, in milliseconds from now. */
  readonly timeoutMs?: number;
  /** Shortens the queue timeout of a model whose queue has one and allows that; ignored for other models. */
  readonly queueTimeoutMs?: number;
  /** From 1, the most urgent; 0 or undefined: the model's default. */
  readonly priority?: number;
  /** For models that keep state from one request to the next. */
  readonly sequence?: SequenceOptions;
  /** The caller that the request counts for, in limits and fairness. */
  readonly caller?: string;
  readonly signal?: AbortSignal;
}

export interface SequenceOptions {
  /** Identifies a sequence among those of the model; a number and the same digits as text are different ids. */
  readonly id: number | bigint | string;
  /** The first request of a sequence, or of a new one under the same id. */
  readonly isStart?: boolean;
  /** The last request of a sequence: its state is dropped. */
  readonly isEnd?: boolean;
}

const optionNames = new Set(
  Object.keys({
    version: true,
    id: true,
    outputs: true,
    timeoutMs: true,
    queueTimeoutMs: true,
    priority: true,
    sequence: true,
    caller: true,
    signal: true,
  } satisfies Record<keyof InferOptions, true>),
);

interface Scheduling extends Pick<Origin, 'queueTimeoutMs' | 'priority' | 'caller'> {
  readonly timeoutMs: number | undefined;
  readonly sequence: SequenceStep | undefined;
}

/** Throws `invalid-request` for the first invalid option. */
export function schedulingFrom(options: InferOptions): Scheduling {
  for (const name of Object.keys(options)) {
    if (optionNames.has(name)) continue;
    throw new InferenceError(
      'invalid-request',
      `${quote(name)} is not an option of infer.${didYouMean(name, optionNames)}`,
    );
  }
  const { timeoutMs, queueTimeoutMs, priority = 0, caller = '' } = options;
  for (const [name, value] of Object.entries({ timeoutMs, queueTimeoutMs })) {
    if (value !== undefined && !(typeof value === 'number' && value >= 0)) {
      throw new InferenceError('invalid-request', `${name} is ${value}; it must be a number of milliseconds`);
    }
  }
  if (!Number.isSafeInteger(priority) || priority < 0) {
    throw new InferenceError('invalid-request', `priority is ${priority}; it must be an integer of 0 or more`);
  }
  if (typeof caller !== 'string') {
    throw new InferenceError('invalid-request', `caller is ${String(caller)}; it must be a string`);
  }
  return {
    timeoutMs,
    queueTimeoutMs: queueTimeoutMs ?? Number.POSITIVE_INFINITY,
    priority,
    sequence: sequenceFrom(options.sequence),
    caller,
  };
}

function sequenceFrom(sequence: SequenceOptions | undefined): SequenceStep | undefined {
  if (sequence === undefined) return undefined;
  const { id, isStart = false, isEnd = false } = sequence;
  if (typeof isStart !== 'boolean' || typeof isEnd !== 'boolean') {
    throw new InferenceError('invalid-request', 'sequence.isStart and sequence.isEnd must be true or false');
  }
  const exact = takeSequenceId(id);
  if (exact !== undefined) return sequenceStepFrom({ id: exact, isStart, isEnd });
  throw new InferenceError(
    'invalid-request',
    `sequence.id is ${String(id)}; it must be an integer from 0 to ${sequenceIdMax}, as a bigint above 2^53, or a string`,
  );
}
