/**
 * `millrace serve`: starts the server, reports its state, reloads its configuration on SIGHUP, and stops it on another
 * signal: not ready, drained, closed.
 */
import { ConfigError } from '@millrace/protocol';
import type { Config } from '../config/fields.ts';
import { createLogger, isPretty, type Logger } from '../logging/logger.ts';
import type { RunningServer, ServedModelStatus, StartServer } from '../running-server.ts';
import type { RouterRestart } from '../supervisor/messages.ts';
import { paintOf, type Terminal } from '../terminal.ts';
import { ConfigReloader } from './config-reloader.ts';
import { type Deferred, deferred } from './deferred.ts';
import { exitCodes } from './exit-codes.ts';
import { LogTeller } from './log-teller.ts';
import { startFailureText } from './start-failure.ts';
import { StartScreen } from './start-screen.ts';

export type StopSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

/** The part of `process` that reports signals. */
export interface SignalSource {
  on(signal: StopSignal, listener: () => void): unknown;
  off(signal: StopSignal, listener: () => void): unknown;
}

/** Resolves after so many milliseconds; rejects when the signal is aborted. */
export type Delay = (ms: number, signal?: AbortSignal) => Promise<void>;

export interface ServeParts {
  /** Reads the configuration: at the start, and again on SIGHUP. Throws a `ConfigError`. */
  readonly loadConfig: () => Config;
  readonly version: string;
  readonly startServer: StartServer;
  /** Why this process was started in place of another; undefined where it was not. */
  readonly restart?: RouterRestart | undefined;
  readonly terminal: Terminal;
  /** Writes one line to standard error. */
  readonly complain: (text: string) => void;
  readonly signals: SignalSource;
  /** Whether the process has a terminal now. */
  readonly hasTerminal: () => boolean;
  /** Calls back when whoever passes signals on is gone; returns a function that stops watching. */
  readonly watchParent: (onGone: () => void) => () => void;
  readonly delay: Delay;
  /** Milliseconds on a clock that only goes forward. */
  readonly now: () => number;
  /** Ends the process at once. */
  readonly exitNow: (code: number) => void;
}

type EndReason = { readonly kind: 'signal'; readonly signal: StopSignal } | { readonly kind: 'model-failed' };

/** Resolves with the exit code when the server has stopped. */
export async function serve(parts: ServeParts): Promise<number> {
  const { terminal, signals } = parts;
  const config = parts.loadConfig();
  const logger = createLogger({
    config,
    isTerminal: terminal.isTerminal,
    paint: paintOf(terminal),
    write: (text) => terminal.write(text),
  });
  if (parts.restart !== undefined) logger.warn({ ...parts.restart }, 'router restarted');
  const end = deferred<EndReason>();
  const reloader = new ConfigReloader({ config, loadConfig: parts.loadConfig, logger });
  const unlisten = listenForSignals({
    signals,
    end: end.resolve,
    exitNow: parts.exitNow,
    reload: () => reloader.reload(),
    hasTerminal: parts.hasTerminal,
    watchParent: parts.watchParent,
    now: parts.now,
  });
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
      return await runUntilEnd(parts, { logger, reloader, server, end });
    } finally {
      await server.close();
    }
  } finally {
    unlisten();
  }
}

interface Run {
  readonly logger: Logger;
  readonly reloader: ConfigReloader;
  readonly server: RunningServer;
  readonly end: Deferred<EndReason>;
}

async function runUntilEnd(parts: ServeParts, { logger, reloader, server, end }: Run): Promise<number> {
  const { terminal } = parts;
  const { config } = reloader;
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
  reloader.started(server);

  const reason = await end.promise;
  stopUpdates();
  if (reason.kind === 'model-failed') {
    const failed = server.models().find(isStartFailure);
    parts.complain(`model ${failed?.name} failed to load, and models.exitOnError is set: ${failed?.reason}`);
    return exitCodes.failure;
  }
  if (screen === undefined) logger.info({ signal: reason.signal }, 'stopping');
  else screen.stopping(reason.signal, reloader.config.shutdown.drainSecondsMax);
  await stop(parts, logger, server, reloader.config.shutdown);
  return reason.signal === 'SIGHUP' ? exitCodes.hungUp : exitCodes.ok;
}

async function stop(
  parts: ServeParts,
  logger: Logger,
  server: RunningServer,
  { noticeSeconds, drainSecondsMax }: Config['shutdown'],
): Promise<void> {
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

/**
 * The same signal within this time is the first one again: a terminal sends Ctrl-C, and a service manager SIGTERM, to all
 * processes of a group, and npm and the supervisor among them pass it on to the router, which has it already.
 */
export const repeatedSignalMs = 1000;

interface SignalParts extends Pick<ServeParts, 'signals' | 'exitNow' | 'hasTerminal' | 'watchParent' | 'now'> {
  readonly end: (reason: EndReason) => void;
  readonly reload: () => void;
}

/**
 * The first signal stops the server in order, the second ends the process at once. SIGHUP reloads, except where it means
 * what it is named after: the terminal that the server was started on is gone.
 */
function listenForSignals(parts: SignalParts): () => void {
  const { signals, end, exitNow, reload, hasTerminal, now } = parts;
  const hadTerminal = hasTerminal();
  let first: { readonly signal: StopSignal; readonly at: number } | undefined;
  const stopWith = (signal: StopSignal): void => {
    if (first === undefined) {
      first = { signal, at: now() };
      end({ kind: 'signal', signal });
    } else if (signal !== first.signal || now() - first.at >= repeatedSignalMs) exitNow(exitCodeOf[signal]);
  };
  const listeners: Readonly<Record<StopSignal, () => void>> = {
    SIGINT: () => stopWith('SIGINT'),
    SIGTERM: () => stopWith('SIGTERM'),
    SIGHUP: () => {
      if (hadTerminal && !hasTerminal()) stopWith('SIGHUP');
      else if (first === undefined) reload();
    },
  };
  const entries = Object.entries(listeners) as [StopSignal, () => void][];
  for (const [signal, listener] of entries) signals.on(signal, listener);
  const unwatch = parts.watchParent(() => stopWith('SIGTERM'));
  return () => {
    unwatch();
    for (const [signal, listener] of entries) signals.off(signal, listener);
  };
}

const exitCodeOf: Readonly<Record<StopSignal, number>> = {
  SIGINT: exitCodes.interrupted,
  SIGTERM: exitCodes.terminated,
  SIGHUP: exitCodes.hungUp,
};

/** A failure is not a reason to stop where other versions served before keep serving. */
function isStartFailure({ state, isTolerated }: ServedModelStatus): boolean {
  return state === 'failed' && isTolerated !== true;
}

function errorOf(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
