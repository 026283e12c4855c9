/** Frames of durable streams in JSON, as docs/reference/streams.md describes them; what is empty or false is left out. */
import type { JsonObject, StreamCredit, StreamOutcome } from '@millrace/protocol';

export interface OpenedJson {
  readonly streamId: string;
  readonly epoch: number;
  readonly model: string;
  readonly version: string;
  readonly acceptedInput: number;
  readonly nextOutput: number;
  readonly inputCredit: StreamCredit;
  readonly warnings?: readonly string[];
}

export interface TensorJson {
  readonly name: string;
  readonly datatype: string;
  readonly shape?: readonly number[];
  readonly data?: readonly unknown[];
  readonly raw?: string;
}

export interface OutputJson {
  readonly sequence: number;
  readonly inputSequence: number;
  readonly tensors?: readonly TensorJson[];
  readonly text?: string;
  readonly bytes?: string;
  readonly token?: { readonly id?: number; readonly text?: string };
  readonly endOfOutput?: boolean;
}

export interface EndedJson {
  readonly outcome: StreamOutcome;
  readonly code?: string;
  readonly message?: string;
  readonly outputs: number;
}

/** One of its fields is there. */
export interface ServerFrameJson {
  readonly opened?: OpenedJson;
  readonly accepted?: { readonly input: number; readonly inputCredit?: StreamCredit };
  readonly output?: OutputJson;
  readonly draining?: { readonly message?: string };
  readonly ended?: EndedJson;
}

/** `text`, `tensors` or `bytes`, and what else an input may have except its sequence and end. */
export interface StreamInputJson {
  readonly fields: JsonObject;
  /** At least as many as the server counts for its credit. */
  readonly bytes: number;
}
