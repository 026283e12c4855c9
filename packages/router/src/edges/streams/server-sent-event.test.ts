import { JsonWriter, type StreamServerFrame } from '@millrace/protocol';
import { expect, test } from 'vitest';
import { doAtOnce } from '../slices/slice-queue.ts';
import { resumeAfterFrom, writeEvent } from './server-sent-event.ts';

const textOf = (frame: StreamServerFrame): string => {
  const writer = new JsonWriter();
  doAtOnce(writeEvent(writer, frame));
  return Buffer.from(writer.take()).toString();
};

test('the first event has an id and says how soon to connect again', () => {
  const frame: StreamServerFrame = {
    kind: 'opened',
    streamId: 's',
    epoch: 1,
    model: 'm',
    version: '2',
    protocolVersion: 1,
    acceptedInput: 0,
    nextOutput: 5,
    inputCredit: { messages: 8, bytes: 1024 },
    warnings: [],
  };
  expect(textOf(frame)).toBe(
    'event: opened\nid: 4\nretry: 1000\ndata: {"streamId":"s","epoch":1,"model":"m","version":"2","protocolVersion":1,' +
      '"acceptedInput":0,"nextOutput":5,"inputCredit":{"messages":8,"bytes":1024}}\n\n',
  );
});

test('an output has its sequence as id, and no text can end its line', () => {
  const payload = { kind: 'text', text: 'a\n\nevent: ended\r\u2028b' } as const;
  const text = textOf({ kind: 'output', sequence: 7, inputSequence: 1, payload, endOfOutput: true });
  const [event, id, data, ...rest] = text.split('\n');
  expect([event, id, rest]).toEqual(['event: output', 'id: 7', ['', '']]);
  expect(data).not.toContain('\r');
  expect(JSON.parse((data ?? '').slice('data: '.length))).toEqual({
    sequence: 7,
    inputSequence: 1,
    text: payload.text,
    endOfOutput: true,
  });
});

test('other events have no id: the last one stays', () => {
  expect(textOf({ kind: 'accepted', input: 3 })).toBe('event: accepted\ndata: {"input":3}\n\n');
  expect(textOf({ kind: 'draining', message: '' })).toBe('event: draining\ndata: {}\n\n');
});

test('the end has an id of its own, which tells who has seen it from who has seen the last output', () => {
  expect(textOf({ kind: 'ended', outcome: 'done', message: '', outputs: 3 })).toBe(
    'event: ended\nid: end\ndata: {"outcome":"done","outputs":3}\n\n',
  );
});

test('Last-Event-ID is the sequence of an output', () => {
  expect(['', '0', '17'].map((id) => resumeAfterFrom(id, 'Last-Event-ID'))).toEqual([0, 0, 17]);
  for (const id of ['-1', '1.5', 'seven', '99999999999999999', '9999999999999999']) {
    expect(() => resumeAfterFrom(id, 'resume_after'), id).toThrow(
      `resume_after is '${id}'; it must be the sequence of an output`,
    );
  }
});
