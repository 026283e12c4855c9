/** Decisions of one stream, on a clock of the test. */
import type { OutputFrame, StreamServerFrame } from '@millrace/protocol';
import { describe, expect, test } from 'vitest';
import { MillraceError, unreachable } from '../errors/millrace-error.ts';
import { ClientStreamSession, type SessionCommand, type SessionConfig } from './stream-session.ts';

const config: SessionConfig = {
  streamId: 's',
  clientId: 'c',
  context: 'm',
  parameters: {},
  resumeAfter: undefined,
  credit: { messages: 4, bytes: 1000 },
  silenceMsMax: 1000,
  answerMsMax: 500,
  openMsMax: 2000,
  resumeMsMax: 10_000,
  backoffMsInitial: 100,
  backoffMsMax: 800,
  deadlineMs: Number.POSITIVE_INFINITY,
};

const opened = (acceptedInput: number, nextOutput: number, messages = 8): StreamServerFrame => ({
  kind: 'opened',
  streamId: 's',
  epoch: 1,
  model: 'm',
  version: '1',
  protocolVersion: 1,
  acceptedInput,
  nextOutput,
  inputCredit: { messages, bytes: 1000 },
  warnings: [],
});
const output = (sequence: number, inputSequence = sequence, endOfOutput = true): OutputFrame => ({
  kind: 'output',
  sequence,
  inputSequence,
  payload: { kind: 'text', text: `o${sequence}` },
  endOfOutput,
});
const input = (text: string, endOfInput = false) => ({ payload: { kind: 'text' as const, text }, endOfInput });

/** Commands in short words. */
function said(session: ClientStreamSession): readonly string[] {
  return session.takeCommands().map((command: SessionCommand) => {
    switch (command.kind) {
      case 'connect':
        return `connect ${command.open.mode} after ${command.open.resumeAfter}`;
      case 'send':
      case 'ping': {
        const { frame } = command;
        const what = frame.kind === 'input' ? frame.sequence : frame.kind === 'acknowledge' ? frame.output : '';
        return `${command.kind} ${frame.kind} ${what}`.trim();
      }
      case 'gap':
        return `gap after ${command.afterOutput}`;
      case 'resumed':
        return `resumed in ${command.gapMs}`;
      default:
        return command.kind;
    }
  });
}

/** A session whose stream is open. */
function openSession(changes: Partial<SessionConfig> = {}): ClientStreamSession {
  const session = new ClientStreamSession({ ...config, ...changes }, 0);
  session.onFrame(opened(0, (changes.resumeAfter ?? 0) + 1), 0, 0);
  session.takeCommands();
  return session;
}

const lost = unreachable('lost', true);

test('a new stream is opened with mode either, until the server has opened it once', () => {
  const session = new ClientStreamSession(config, 0);
  expect(said(session)).toEqual(['connect either after 0']);
  session.onLinkClosed(lost, 10, 1);
  expect(session.nextTimeMs).toBe(110);
  session.onTime(110, 0);
  expect(said(session)).toEqual(['connect either after 0']);
  session.onFrame(opened(0, 1), 120, 0);
  session.onLinkClosed(lost, 130, 1);
  session.onTime(1000, 0);
  expect(said(session)).toEqual(['wake', 'gap after 0', 'connect resume after 0']);
});

test('connections are counted, so that one that was given up and arrives late takes the stream from no later one', () => {
  const session = new ClientStreamSession(config, 0);
  const attempts = (): readonly unknown[] =>
    session.takeCommands().flatMap((command) => {
      return command.kind === 'connect' ? [[command.open.clientId, command.open.attempt]] : [];
    });
  expect(attempts()).toEqual([['c', 1]]);
  session.onTime(2000, 0);
  session.onTime(session.nextTimeMs, 0);
  expect(attempts()).toEqual([['c', 2]]);
});

test('inputs are sent within the credit, and those that were not accepted once more after a resume', () => {
  const session = openSession();
  session.onFrame({ kind: 'accepted', input: 0, inputCredit: { messages: 2, bytes: 1000 } }, 0, 0);
  session.takeCommands();
  for (const text of ['a', 'b', 'c']) session.addInput(input(text), 0);
  expect(said(session)).toEqual(['send input 1', 'send input 2']);
  session.onFrame({ kind: 'accepted', input: 1, inputCredit: { messages: 2, bytes: 1000 } }, 1, 0);
  expect(said(session)).toEqual(['send input 3', 'wake']);
  session.onLinkClosed(lost, 2, 0);
  session.onTime(1000, 0);
  session.onFrame(opened(2, 1), 1001, 0);
  expect(said(session)).toEqual(['gap after 0', 'connect resume after 0', 'resumed in 999', 'send input 3', 'wake']);
  expect(session.acceptedInput).toBe(2);
});

test('bytes of inputs count against the credit too', () => {
  const session = openSession();
  session.onFrame({ kind: 'accepted', input: 0, inputCredit: { messages: 8, bytes: 10 } }, 0, 0);
  session.takeCommands();
  session.addInput(input('123456'), 0);
  session.addInput(input('789012'), 0);
  expect(said(session)).toEqual(['send input 1']);
});

test('an output is acknowledged when the next one is asked for, and not before', () => {
  const session = openSession();
  session.addInput(input('a'), 0);
  session.onFrame(output(1), 0, 0);
  session.takeCommands();
  expect(session.takeOutput(0)?.sequence).toBe(1);
  expect(said(session)).toEqual([]);
  expect(session.handledOutput).toBe(0);
  expect(session.takeOutput(0)).toBeUndefined();
  expect(said(session)).toEqual(['send acknowledge 1']);
  expect(session.handledOutput).toBe(1);
});

test('a resume begins after the last output handled, and what comes again is not handed over again', () => {
  const session = openSession();
  for (const text of ['a', 'b', 'c']) session.addInput(input(text), 0);
  for (const sequence of [1, 2, 3]) session.onFrame(output(sequence), 0, 0);
  expect([session.takeOutput(0)?.sequence, session.takeOutput(0)?.sequence]).toEqual([1, 2]);
  session.onLinkClosed(lost, 1, 0);
  session.takeCommands();
  session.onTime(1000, 0);
  expect(said(session)).toEqual(['connect resume after 1']);
  // The program goes on meanwhile, with what it has.
  expect(session.takeOutput(1000)?.sequence).toBe(3);
  session.onFrame(opened(3, 2), 1001, 0);
  for (const sequence of [2, 3, 4]) session.onFrame(output(sequence), 1001, 0);
  expect(said(session)).toEqual(['resumed in 1000', 'send acknowledge 2', 'wake', 'wake']);
  expect(session.takeOutput(1002)?.sequence).toBe(4);
});

test('an output that leaves a gap is not handed over: the connection is given up', () => {
  const session = openSession();
  session.onFrame(output(2), 5, 0);
  expect(said(session)).toEqual(['close-link', 'gap after 0']);
  expect(session.takeOutput(5)).toBeUndefined();
  expect(session.ending).toBeUndefined();
});

test('a stream that another client has taken over ends, and is never connected again', () => {
  const session = openSession();
  session.onLinkClosed(new MillraceError('stream-superseded', 'another client'), 5, 0);
  expect(said(session)).toEqual(['gap after 0', 'wake']);
  expect(session.ending).toMatchObject({ kind: 'ended', outcome: 'failed', error: { code: 'stream-superseded' } });
  expect(session.nextTimeMs).toBe(Number.POSITIVE_INFINITY);
  session.onTime(100_000, 0);
  expect(said(session)).toEqual([]);
});

describe('errors that close a connection', () => {
  test.each(['draining', 'journal-unavailable', 'caller-full', 'model-not-ready', 'sequence-gap', 'internal'] as const)(
    'after %s it is resumed',
    (code) => {
      const session = openSession();
      session.onLinkClosed(new MillraceError(code, ''), 0, 0);
      expect(session.ending).toBeUndefined();
      expect(session.nextTimeMs).toBeLessThanOrEqual(100);
    },
  );

  test.each(['stream-not-found', 'stream-conflict', 'output-expired', 'unknown-model', 'invalid-request'] as const)(
    '%s ends the stream',
    (code) => {
      const session = openSession();
      session.onLinkClosed(new MillraceError(code, 'x'), 0, 0);
      expect(session.ending).toMatchObject({ error: { code } });
    },
  );

  test('the time that the server names is kept', () => {
    const session = openSession();
    session.onLinkClosed(new MillraceError('server-full', '', { retryAfterMs: 3000 }), 100, 0);
    expect(session.nextTimeMs).toBe(3100);
  });
});

test('pauses double up to their maximum, and begin anew after the stream was opened', () => {
  const session = openSession({ resumeMsMax: 1e9 });
  const pauses: number[] = [];
  let nowMs = 0;
  for (let index = 0; index < 6; index++) {
    session.onLinkClosed(lost, nowMs, 1);
    pauses.push(session.nextTimeMs - nowMs);
    nowMs = session.nextTimeMs;
    session.onTime(nowMs, 1);
  }
  expect(pauses).toEqual([100, 200, 400, 800, 800, 800]);
  session.onFrame(opened(0, 1), nowMs, 0);
  session.onLinkClosed(lost, nowMs, 1);
  expect(session.nextTimeMs - nowMs).toBe(100);
});

test('a stream that cannot be resumed in time ends with the last error', () => {
  const session = openSession({ resumeMsMax: 1000 });
  session.onLinkClosed(lost, 0, 1);
  session.onTime(100, 1);
  session.onLinkClosed(lost, 950, 1);
  expect(session.ending).toMatchObject({ outcome: 'failed', error: { code: 'unreachable', attempts: 2 } });
});

test('a server that does not open the stream is left', () => {
  const session = new ClientStreamSession(config, 0);
  session.takeCommands();
  expect(session.nextTimeMs).toBe(2000);
  session.onTime(2000, 1);
  expect(said(session)).toEqual(['close-link']);
  expect(session.nextTimeMs).toBe(2100);
});

describe('silence', () => {
  test('a connection that owes nothing is never asked', () => {
    const session = openSession();
    expect(session.nextTimeMs).toBe(Number.POSITIVE_INFINITY);
    session.addInput(input('a'), 50);
    session.onFrame({ kind: 'accepted', input: 1, inputCredit: undefined }, 60, 0);
    session.onFrame(output(1), 70, 0);
    expect(session.nextTimeMs).toBe(Number.POSITIVE_INFINITY);
  });

  test('while an output is owed it is asked with an input that the server has, and given up when it does not answer', () => {
    const session = openSession();
    session.addInput(input('a'), 50);
    session.onFrame({ kind: 'accepted', input: 1, inputCredit: undefined }, 60, 0);
    session.takeCommands();
    expect(session.nextTimeMs).toBe(1060);
    session.onTime(1060, 0);
    expect(said(session)).toEqual(['ping input 1']);
    session.onFrame({ kind: 'accepted', input: 1, inputCredit: undefined }, 1100, 0);
    expect(session.nextTimeMs).toBe(2100);
    session.onTime(2100, 0);
    session.onTime(2600, 0);
    expect(said(session)).toEqual(['wake', 'ping input 1', 'close-link', 'gap after 0']);
  });

  test('an input that was accepted beside the connection is no sign of life of it', () => {
    const session = openSession();
    session.addInput(input('a'), 100);
    session.onAccepted({ kind: 'accepted', input: 1, inputCredit: undefined });
    expect([session.acceptedInput, session.nextTimeMs]).toEqual([1, 1100]);
    session.onTime(1100, 0);
    session.takeCommands();
    session.onAccepted({ kind: 'accepted', input: 1, inputCredit: undefined });
    expect(session.nextTimeMs).toBe(1600);
    session.onTime(1600, 0);
    expect(said(session)).toEqual(['wake', 'close-link', 'gap after 0']);
  });

  test('an input that was accepted beside a connection that is lost counts for the next one', () => {
    const session = openSession();
    session.addInput(input('a'), 100);
    session.onLinkClosed(lost, 200, 1);
    session.onAccepted({ kind: 'accepted', input: 1, inputCredit: undefined });
    expect(session.acceptedInput).toBe(0);
  });

  test('an input that was not accepted is repeated as it is', () => {
    const session = openSession();
    session.addInput(input('a'), 50);
    session.onTime(1050, 0);
    expect(said(session)).toEqual(['send input 1', 'ping input 1']);
  });

  test('a server without credit owes nothing', () => {
    const session = openSession();
    session.addInput(input('a'), 0);
    session.onFrame({ kind: 'accepted', input: 1, inputCredit: undefined }, 0, 0);
    for (const sequence of [1, 2, 3, 4]) session.onFrame(output(sequence, 1, false), 10, 0);
    expect(session.nextTimeMs).toBe(Number.POSITIVE_INFINITY);
    for (let count = 0; count < 5; count++) session.takeOutput(5000);
    // From the moment on from which it may send again.
    expect(session.nextTimeMs).toBe(6000);
  });
});

test('outputs that came before the end are handed over before it', () => {
  const session = openSession();
  session.addInput(input('a', true), 0);
  session.onFrame(output(1), 0, 0);
  session.onFrame({ kind: 'ended', outcome: 'done', message: '', outputs: 1 }, 0, 0);
  expect(session.takeOutput(0)?.sequence).toBe(1);
  expect(session.takeOutput(0)).toBeUndefined();
  expect(session.ending).toEqual({ kind: 'ended', outcome: 'done', error: undefined });
  expect(() => session.addInput(input('b'), 0)).toThrow('has ended');
});

test('a failed stream tells its code', () => {
  const session = openSession();
  session.onFrame({ kind: 'ended', outcome: 'failed', code: 'poison-request', message: 'input 2', outputs: 1 }, 0, 0);
  expect(session.ending).toMatchObject({ outcome: 'failed', error: { code: 'poison-request', message: 'input 2' } });
});

describe('cancel', () => {
  const error = new MillraceError('cancelled', 'enough');

  test('is over for the program at once, and for the server when it says so', () => {
    const session = openSession();
    session.cancel('enough', error, 5);
    expect(said(session)).toEqual(['wake', 'send cancel']);
    expect(session.ending).toMatchObject({ outcome: 'cancelled', error: { code: 'cancelled' } });
    session.onFrame({ kind: 'ended', outcome: 'cancelled', code: 'cancelled', message: '', outputs: 0 }, 6, 0);
    expect(said(session)).toEqual(['close-link', 'wake']);
    expect(session.nextTimeMs).toBe(Number.POSITIVE_INFINITY);
  });

  test('reaches the server after a reconnect, and is given up after 5 s', () => {
    const session = openSession();
    session.onLinkClosed(lost, 0, 1);
    session.cancel('enough', error, 5);
    session.onTime(100, 1);
    session.onFrame(opened(0, 1), 110, 0);
    expect(said(session)).toEqual(['gap after 0', 'wake', 'connect resume after 0', 'resumed in 110', 'send cancel']);
    session.onTime(5005, 0);
    expect(said(session)).toEqual(['close-link']);
    expect(session.nextTimeMs).toBe(Number.POSITIVE_INFINITY);
  });

  test('follows from the deadline', () => {
    const session = openSession({ deadlineMs: 700 });
    expect(session.nextTimeMs).toBe(700);
    session.onTime(700, 0);
    expect(said(session)).toEqual(['wake', 'send cancel']);
    expect(session.ending).toMatchObject({ error: { code: 'deadline-exceeded' } });
    session.onTime(5700, 0);
    expect(said(session)).toEqual(['close-link']);
    expect(session.nextTimeMs).toBe(Number.POSITIVE_INFINITY);
  });
});

describe('a position from before', () => {
  test('inputs go on behind those that the server has', () => {
    const session = new ClientStreamSession({ ...config, resumeAfter: 5 }, 0);
    session.addInput(input('a'), 0);
    expect(said(session)).toEqual(['connect resume after 5']);
    session.onFrame(opened(3, 6), 1, 0);
    expect(said(session)).toEqual(['send input 4', 'wake']);
    session.onFrame(output(6, 3), 2, 0);
    expect(session.takeOutput(2)?.sequence).toBe(6);
  });

  test('detaching leaves the stream without a word', () => {
    const session = openSession();
    session.detach();
    expect(said(session)).toEqual(['close-link', 'wake']);
    expect(session.ending).toEqual({ kind: 'detached' });
  });
});

test('inputs of another client are told apart', () => {
  const session = openSession();
  session.onLinkClosed(lost, 0, 0);
  session.onTime(1000, 0);
  session.onFrame(opened(3, 1), 1001, 0);
  expect(session.ending).toMatchObject({ error: { code: 'stream-conflict' } });
});
