/** One call by `fetch`: what gRPC-Web and Connect have in common. */
import { unreachable } from '../../errors/millrace-error.ts';
import { unreachableBy } from '../fetch/fetch-calls.ts';
import { BrokenAnswer } from '../rpc/message-reader.ts';
import type { OutgoingCall, RpcAnswerListener, RpcField } from '../rpc/rpc-call.ts';
import { lostOutcome } from '../rpc/rpc-outcome.ts';
import type { AttemptContext } from '../transport.ts';

/** Where calls go, and how. */
export interface FetchTarget {
  readonly base: string;
  readonly fetch: typeof fetch;
  readonly messageBytesMax: number;
}

export interface FetchedCall {
  readonly path: string;
  /** Of the protocol; those of the program follow. */
  readonly headers: readonly [string, string][];
  readonly body: Uint8Array<ArrayBuffer>;
  /** Tells the listener everything, or throws a `BrokenAnswer` or what `eachPiece` throws. */
  read(answer: Response, listener: RpcAnswerListener): Promise<void>;
}

export function fetchCall(
  { base, fetch: fetchFunction }: FetchTarget,
  call: FetchedCall,
  context: AttemptContext,
  listener: RpcAnswerListener,
): OutgoingCall {
  const controller = new AbortController();
  let isOver = false;
  const guarded: RpcAnswerListener = {
    onHead: (fields) => {
      if (!isOver) listener.onHead(fields);
    },
    onMessage: (message) => {
      if (!isOver) listener.onMessage(message);
    },
    onEnd: (outcome, trailers) => {
      if (isOver) return;
      isOver = true;
      // What follows the end is not read.
      controller.abort();
      listener.onEnd(outcome, trailers);
    },
    room: () => listener.room?.(),
  };
  const run = async (): Promise<void> => {
    let answer: Response;
    try {
      answer = await fetchFunction(`${base}${call.path}`, {
        method: 'POST',
        headers: [...call.headers, ...context.headers.map(([name, value]): [string, string] => [name, value])],
        body: call.body,
        signal: controller.signal,
      });
    } catch (error) {
      guarded.onEnd(lostOutcome(unreachableBy(error, base)), []);
      return;
    }
    try {
      await call.read(answer, guarded);
    } catch (error) {
      if (error instanceof BrokenAnswer) guarded.onEnd(error.outcome, []);
      else if (error instanceof LostBody) {
        const told = `the connection to ${base} was lost while the answer arrived`;
        guarded.onEnd(lostOutcome(unreachable(told, true, error.cause)), []);
      } else throw error;
    }
  };
  void run();
  return {
    stop: () => {
      isOver = true;
      controller.abort();
    },
  };
}

/** The body of an answer ended before its end. */
class LostBody extends Error {}

/** Passes the body on as it arrives. */
export async function eachPiece(
  answer: Response,
  take: (piece: Uint8Array) => void,
  room: RpcAnswerListener['room'],
): Promise<void> {
  const reader = answer.body?.getReader();
  if (reader === undefined) return;
  for (;;) {
    await room?.();
    const { done, value } = await reader.read().catch((error: unknown): never => {
      throw new LostBody('the body was lost', { cause: error });
    });
    if (done) return;
    take(value);
  }
}

export function fieldsOf(headers: Headers): readonly RpcField[] {
  return [...headers].map(([name, value]) => ({ name, value }));
}
