/** Reads what `formatEvent` writes. Fields a story does not care about may be left out. */
import { type ErrorCode, errorCatalogue } from '@millrace/protocol';
import type { SchedulerEvent } from '../events.ts';
import { policyFromFields } from '../policy-text.ts';

export function mustParseEvent(line: string): SchedulerEvent {
  const tokens = line.trim().split(/\s+/);
  const plain = tokens.filter((token) => !token.includes('='));
  const [kind, first, second] = plain;
  const fields = new Map(tokens.filter((token) => token.includes('=')).map((token) => splitAt(token, '=')));
  const field = (name: string, fallback: number): number => {
    const text = fields.get(name);
    return text === undefined ? fallback : mustParseNumber(text, line);
  };
  const number = (word: string | undefined): number => mustParseNumber(word, line);
  const name = (word: string | undefined): string => word ?? fail(line, 'a name is missing');

  switch (kind) {
    case 'model-added':
      return { kind, model: name(first), policy: policyFromFields(field, (word) => fields.get(word)) };
    case 'model-retired':
    case 'model-removed':
      return { kind, model: name(first) };
    case 'worker-credit':
      return { kind, worker: number(first), batchesMax: field('batches-max', 1) };
    case 'worker-serves': {
      const priorityMax = field('priority-max', Number.POSITIVE_INFINITY);
      return { kind, worker: number(first), model: name(second), priorityMax };
    }
    case 'worker-unserves':
      return { kind, worker: number(first), model: name(second) };
    case 'worker-gone':
      return { kind, worker: number(first), isKilled: second === 'killed' };
    case 'breaker-closed':
      return { kind, worker: number(first) };
    case 'request-arrived': {
      const request = {
        request: number(first),
        model: name(second),
        rows: field('rows', 1),
        bytes: field('bytes', 1),
        group: fields.get('group') ?? 'a',
        deadlineAt: field('deadline-at', Number.POSITIVE_INFINITY),
        caller: fields.get('caller') ?? '',
        priority: field('priority', 0),
        queueTimeoutMs: field('queue-timeout-ms', Number.POSITIVE_INFINITY),
        isAlone: field('alone', 0) === 1,
      };
      return { kind, request };
    }
    case 'request-cancelled':
      if (second !== 'cancelled' && second !== 'deadline-exceeded') return fail(line, 'a reason is missing');
      return { kind, request: number(first), reason: second };
    case 'batch-answered':
    case 'batch-progressed':
      return { kind, batch: number(first) };
    case 'batch-credit':
      return { kind, batch: number(first), hasCredit: second === 'some' };
    case 'batch-failed': {
      const [head, message] = splitAt(line, ': ');
      return { kind, batch: number(first), code: mustParseCode(head.split(' ')[2], line), message };
    }
    case 'drain-started':
    case 'tick':
      return { kind };
    default:
      return fail(line, 'no such event');
  }
}

function mustParseNumber(word: string | undefined, line: string): number {
  const value = Number(word);
  return word === undefined || Number.isNaN(value) ? fail(line, `${word} is not a number`) : value;
}

function mustParseCode(word: string | undefined, line: string): ErrorCode {
  return word !== undefined && word in errorCatalogue ? (word as ErrorCode) : fail(line, `${word} is no error code`);
}

function splitAt(text: string, separator: string): [string, string] {
  const index = text.indexOf(separator);
  return index < 0 ? [text, ''] : [text.slice(0, index), text.slice(index + separator.length)];
}

function fail(line: string, why: string): never {
  throw new Error(`${why}: "${line}"`);
}
