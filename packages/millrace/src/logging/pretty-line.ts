/** Formats one JSON log line for people: time, level, message, then the other fields. */
import type { Paint } from '../terminal.ts';

const levelStyles: Readonly<Record<string, Parameters<Paint>[0]>> = {
  trace: 'dim',
  debug: 'dim',
  info: 'cyan',
  warn: 'yellow',
  error: 'red',
  fatal: 'red',
};

export function prettyLine(line: string, paint: Paint): string {
  let entry: Record<string, unknown>;
  try {
    entry = JSON.parse(line) as Record<string, unknown>;
  } catch {
    return line;
  }
  const { level, time, message, error, server: _server, ...rest } = entry;
  const levelName = String(level);
  const head = [
    paint('dim', String(time).slice(11, 19)),
    paint(levelStyles[levelName] ?? 'bold', levelName.padEnd(5)),
    String(message ?? ''),
  ].join(' ');
  const details = Object.entries(rest).map(([key, value]) => paint('dim', `${key}=${shown(value)}`));
  return `${[head, ...details].join('  ')}${shownError(error, paint)}\n`;
}

function shown(value: unknown): string {
  return typeof value === 'string' && /^[\w./:@-]+$/.test(value) ? value : JSON.stringify(value);
}

function shownError(error: unknown, paint: Paint): string {
  if (typeof error !== 'object' || error === null) return '';
  const { stack, message } = error as { stack?: unknown; message?: unknown };
  const text = typeof stack === 'string' ? stack : String(message ?? '');
  return text === '' ? '' : `\n${paint('dim', text.replaceAll(/^/gm, '    '))}`;
}
