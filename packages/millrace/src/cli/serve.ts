/** `millrace serve`: starts the server, reports its state, and stops it on a signal: not ready, drained, closed. */
import { ConfigError } from '@millrace/protocol';
import type { Config } from '../config/fields.ts';
import { createLogger, isPretty, type Logger } from '../logging/logger.ts';
import type { RunningServer, ServedModelStatus, StartServer } from '../running-server.ts';
import { paintOf, type Terminal } from '../terminal.ts';
import { exitCodes } from './exit-codes.ts';
import { LogTeller } from './log-teller.ts';
import { startFailureText } from './start-failure.ts';
import { StartScreen } from './start-screen.ts';

export type StopSignal = 'SIGINT' | 'SIGTERM';

/** The part of `process` that reports signals. */
export interface SignalSource {
  on(signal: StopSignal, listener: () => void): unknown;
  off(signal: StopSignal, listener: () => void): unknown;
}

/** Resolves after so many milliseconds; rejects when the signal is aborted. */
export type Delay = (ms: number, signal?: AbortSignal) => Promise<void>;

export interface ServeParts {
  readonly config: Config;
  readonly version: string;
  readonly startServer: StartServer;
  readonly terminal: Terminal;
  /** Writes one line to standard error. */
  readonly complain: (text: string) => void;
  readonly signals: SignalSource;
  readonly delay: Delay;
  /** Ends the process at once. */
  readonly exitNow: (code: number) => void;
}

type EndReason = { readonly kind: 'signal'; readonly signal: StopSignal } | { readonly kind: 'model-failed' };

/** Resolves with the exit code when the server has stopped. */
export async function serve(parts: ServeParts): Promise<number> {
  const { config, terminal, signals } = parts;
  const logger = createLogger({
    config,
    isTerminal: terminal.isTerminal,
    paint: paintOf(terminal),
    write: (text) => terminal.write(text),
  });
  const end = deferred<EndReason>();
  const unlisten = listenForSignals(signals, end.resolve, parts.exitNow);
  try {
    let server: RunningServer;
    try {
      server = await parts.startServer(config, logger);
    } catch (error) {
      if (error instanceof ConfigError) throw error;
      parts.complain(startFailureText(error, config));
      logger.debug({ error: errorOf(error) }, 'start failed');
      return exitCodes.failure;
    }
    try {
      return await runUntilEnd(parts, logger, server, end);
    } finally {
      await server.close();
    }
  } finally {
    unlisten();
  }
}

async function runUntilEnd(
  parts: ServeParts,
  logger: Logger,
  server: RunningServer,
  end: Deferred<EndReason>,
): Promise<number> {
  const { config, terminal } = parts;
  const hasScreen = terminal.isTerminal && isPretty({ config, isTerminal: true });
  const screen = hasScreen ? new StartScreen(terminal, server, config.models) : undefined;
  const teller = new LogTeller(logger, server);
  const update = (): void => {
    if (screen === undefined) teller.update();
    else screen.update();
    if (config.models.exitOnError && server.models().some(isStartFailure)) {
      end.resolve({ kind: 'model-failed' });
    }
  };
  if (screen === undefined) teller.begin(parts.version);
  else screen.begin(parts.version);
  const stopUpdates = server.onModelChange(update);
  update();

  const reason = await end.promise;
  stopUpdates();
  if (reason.kind === 'model-failed') {
    const failed = server.models().find(isStartFailure);
    parts.complain(`model ${failed?.name} failed to load, and models.exitOnError is set: ${failed?.reason}`);
    return exitCodes.failure;
  }
  if (screen === undefined) logger.info({ signal: reason.signal }, 'stopping');
  else screen.stopping(reason.signal, config.shutdown.drainSecondsMax);
  await stop(parts, logger, server);
  return exitCodes.ok;
}

async function stop(parts: ServeParts, logger: Logger, server: RunningServer): Promise<void> {
  const { noticeSeconds, drainSecondsMax } = parts.config.shutdown;
  server.stopBeingReady();
  if (noticeSeconds > 0) await parts.delay(noticeSeconds * 1000);
  const isOver = new AbortController();
  const timeLimit = parts.delay(drainSecondsMax * 1000, isOver.signal).then(
    () => false,
    () => true,
  );
  const isDrained = await Promise.race([server.drain().then(() => true), timeLimit]);
  isOver.abort();
  if (!isDrained) {
    const advice = 'drain timed out with requests in progress; raise shutdown.drainSecondsMax if they may take longer';
    logger.warn({ drainSecondsMax }, advice);
  }
}

/** The first signal stops the server in order, the second ends the process at once. */
function listenForSignals(
  signals: SignalSource,
  end: (reason: EndReason) => void,
  exitNow: (code: number) => void,
): () => void {
  let isEnding = false;
  const listenerOf = (signal: StopSignal, code: number) => (): void => {
    if (isEnding) exitNow(code);
    isEnding = true;
    end({ kind: 'signal', signal });
  };
  const onInterrupt = listenerOf('SIGINT', exitCodes.interrupted);
  const onTerminate = listenerOf('SIGTERM', exitCodes.terminated);
  signals.on('SIGINT', onInterrupt);
  signals.on('SIGTERM', onTerminate);
  return () => {
    signals.off('SIGINT', onInterrupt);
    signals.off('SIGTERM', onTerminate);
  };
}

/** A failure is not a reason to stop where other versions served before keep serving. */
function isStartFailure({ state, isTolerated }: ServedModelStatus): boolean {
  return state === 'failed' && isTolerated !== true;
}

interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
}

function deferred<T>(): Deferred<T> {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((fulfil) => {
    resolve = fulfil;
  });
  return { promise, resolve };
}

function errorOf(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
