/** The server's log: JSON lines for machines, or short lines for a person at a terminal. */
import { type DestinationStream, type Logger as PinoLogger, pino, stdTimeFunctions } from 'pino';
import type { Config } from '../config/fields.ts';
import type { Paint } from '../terminal.ts';
import { prettyLine } from './pretty-line.ts';

export type Logger = PinoLogger;

export interface LoggerOptions {
  readonly config: Pick<Config, 'log' | 'server'>;
  readonly isTerminal: boolean;
  readonly paint: Paint;
  readonly write: (text: string) => void;
}

export function isPretty(options: Pick<LoggerOptions, 'config' | 'isTerminal'>): boolean {
  const { format } = options.config.log;
  return format === 'pretty' || (format === 'auto' && options.isTerminal);
}

export function createLogger(options: LoggerOptions): Logger {
  const { config, paint, write } = options;
  const destination: DestinationStream = isPretty(options)
    ? { write: (line) => write(prettyLine(line, paint)) }
    : { write };
  return pino(
    {
      level: config.log.level,
      base: { server: config.server.id },
      // Names instead of pino's numbers: every log collector reads them.
      formatters: { level: (level) => ({ level }) },
      timestamp: stdTimeFunctions.isoTime,
      messageKey: 'message',
      errorKey: 'error',
    },
    destination,
  );
}
