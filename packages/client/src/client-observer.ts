/** What happened, for traces and metrics. Nothing of it changes what a client does. */
import type { MillraceError } from './errors/millrace-error.ts';

export type ClientEvent =
  | {
      readonly kind: 'attempt-started';
      readonly call: CallIdentity;
      readonly attempt: number;
      readonly endpoint: string;
    }
  | {
      readonly kind: 'attempt-ended';
      readonly call: CallIdentity;
      readonly attempt: number;
      readonly endpoint: string;
      readonly durationMs: number;
      /** Undefined: it succeeded. */
      readonly error: MillraceError | undefined;
    }
  | { readonly kind: 'stream-connecting'; readonly streamId: string; readonly endpoint: string }
  | { readonly kind: 'stream-gap'; readonly streamId: string; readonly error: MillraceError }
  | { readonly kind: 'stream-resumed'; readonly streamId: string; readonly gapMs: number };

/** One object a call: a trace may keep its span by it. */
export interface CallIdentity {
  readonly service: string;
  readonly method: string;
  /** Empty where the call is about the server. */
  readonly model: string;
}

export type ClientObserver = (event: ClientEvent) => void;

/**
 * Calls a hook of the program. An error in the hook must not change what becomes of a call or a stream, and must not be lost
 * either: it is thrown as an uncaught error.
 */
export function callHook<Event>(hook: ((event: Event) => void) | undefined, event: Event): void {
  try {
    hook?.(event);
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}
