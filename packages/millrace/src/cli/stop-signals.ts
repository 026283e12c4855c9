/** SIGINT and SIGTERM of a command that has to leave in order: the first asks, the second ends the process at once. */
import { exitCodes } from './exit-codes.ts';
import type { CommandEnvironment } from './run-command.ts';

export type AskingSignal = 'SIGINT' | 'SIGTERM';

/** npm passes a signal on that the command has already: the same one within this time is the first one again. */
const repeatedMs = 300;

export const signalExitCodes: Readonly<Record<AskingSignal, number>> = {
  SIGINT: exitCodes.interrupted,
  SIGTERM: exitCodes.terminated,
};

/** Returns a function that stops listening. */
export function onStopSignal(
  { signals, now, exitNow }: Pick<CommandEnvironment, 'signals' | 'now' | 'exitNow'>,
  onFirst: (signal: AskingSignal) => void,
): () => void {
  let first: { readonly signal: AskingSignal; readonly at: number } | undefined;
  const hear = (signal: AskingSignal): void => {
    if (first === undefined) {
      first = { signal, at: now() };
      onFirst(signal);
    } else if (signal !== first.signal || now() - first.at >= repeatedMs) exitNow(signalExitCodes[signal]);
  };
  const listeners = [
    ['SIGINT', () => hear('SIGINT')],
    ['SIGTERM', () => hear('SIGTERM')],
  ] as const;
  for (const [signal, listener] of listeners) signals.on(signal, listener);
  return () => {
    for (const [signal, listener] of listeners) signals.off(signal, listener);
  };
}
