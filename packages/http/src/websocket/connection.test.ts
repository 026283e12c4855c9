import { describe, expect, test } from 'vitest';
import { ScriptedMemory } from '../wire/testing/scripted-memory.ts';
import { connectionOverheadBytes } from './connection.ts';
import { converseWebSocket } from './testing/conversation.ts';
import { clientClose, clientFrame, type FrameShape } from './testing/frames.ts';

const text = (payload: string, shape?: FrameShape) => clientFrame(1, payload, shape);
const binary = (bytes: number, shape?: FrameShape) => clientFrame(2, Buffer.alloc(bytes, 7), shape);
const more = (payload: string | Uint8Array, shape?: FrameShape) => clientFrame(0, payload, shape);
const ping = (payload = '') => clientFrame(9, payload);

describe('messages', () => {
  const wire = Buffer.concat([
    text('hällo'),
    text(''),
    binary(70_000),
    ping('in between'),
    text('a', { isFinal: false }),
    ping('inside'),
    more('b', { isFinal: false }),
    more('', { isFinal: false }),
    more('c'),
    binary(300),
    clientClose(4001, 'done'),
  ]);
  const expected = ['text hällo', 'text ', 'binary 70000', 'text abc', 'binary 300', 'closed 4001 done'];

  for (const size of [1, 2, 3, 7, 125, 65_536, wire.length]) {
    test(`are the same when they arrive in pieces of ${size} bytes`, () => {
      const { receive, heard, said, transport } = converseWebSocket();
      for (let at = 0; at < wire.length; at += size) receive(wire.subarray(at, at + size));
      expect(heard).toEqual(expected);
      expect(said()).toEqual(['pong in between', 'pong inside', 'close 4001 ']);
      expect(transport.isEnded).toBe(true);
    });
  }

  test('that were delivered stay intact while others arrive', () => {
    const kept: Uint8Array[] = [];
    const { receive } = converseWebSocket({ handler: () => ({ onMessage: (data) => kept.push(data) }) });
    const wire = Buffer.concat([text('first'), text('second', { isFinal: false }), more(' half'), text('third')]);
    for (const byte of wire) receive(Buffer.from([byte]));
    receive(text('fourth'), text('fifth'));
    expect(kept.map((data) => Buffer.from(data).toString())).toEqual([
      'first',
      'second half',
      'third',
      'fourth',
      'fifth',
    ]);
  });

  test('are sent as text or binary, of any length', () => {
    const { connection, said } = converseWebSocket();
    connection.send('grüße');
    connection.sendText(Buffer.from('utf-8'));
    for (const bytes of [0, 125, 126, 65_535, 65_536]) connection.send(Buffer.alloc(bytes));
    expect(said()).toEqual([
      'text grüße',
      'text utf-8',
      'binary 0',
      'binary 125',
      'binary 126',
      'binary 65535',
      'binary 65536',
    ]);
  });
});

describe('a client that breaks the protocol is told why, and nothing more is read from it', () => {
  const cases: readonly [what: string, frames: readonly Buffer[], code: number][] = [
    ['reserved bit 1', [text('x', { reserved: 4 })], 1002],
    ['reserved bit 2', [text('x', { reserved: 2 })], 1002],
    ['reserved bit 3', [text('x', { reserved: 1 })], 1002],
    ['no mask', [text('x', { isMasked: false })], 1002],
    ['reserved data opcode', [clientFrame(3, 'x')], 1002],
    ['reserved control opcode', [clientFrame(11)], 1002],
    ['control frame of 126 bytes', [clientFrame(9, Buffer.alloc(126))], 1002],
    ['fragmented ping', [clientFrame(9, 'x', { isFinal: false })], 1002],
    ['continuation of nothing', [more('x')], 1002],
    ['new message inside another', [text('a', { isFinal: false }), text('b')], 1002],
    ['invalid UTF-8', [clientFrame(1, Buffer.from([0xc0, 0x80]))], 1007],
    ['UTF-8 cut in a character', [clientFrame(1, Buffer.from([0xe2, 0x82]))], 1007],
    ['close frame of one byte', [clientFrame(8, 'x')], 1002],
    ['close code 999', [clientClose(999)], 1002],
    ['close code 1004', [clientClose(1004)], 1002],
    ['close code 1005', [clientClose(1005)], 1002],
    ['close code 1006', [clientClose(1006)], 1002],
    ['close code 2999', [clientClose(2999)], 1002],
    ['close code 5000', [clientClose(5000)], 1002],
    ['close reason that is not UTF-8', [clientFrame(8, Buffer.from([0x03, 0xe8, 0xff]))], 1007],
    ['a length of 2^63', [clientFrame(2, '', { announcedBytes: 2 ** 63 })], 1009],
  ];
  for (const [what, frames, code] of cases) {
    test(what, () => {
      const { receive, said, heard, transport } = converseWebSocket();
      receive(...frames, text('after'));
      expect(said()).toEqual([expect.stringMatching(`^close ${code} .+`)]);
      expect(heard).toEqual([expect.stringMatching(`^closed ${code} .+`)]);
      expect(transport.isEnded).toBe(true);
    });
  }
});

describe('limits of messages', () => {
  test('a message over messageBytesMax closes with 1009 when it is announced', () => {
    const { receive, said } = converseWebSocket({ messageBytesMax: 1000 });
    receive(binary(1000));
    receive(clientFrame(2, '', { announcedBytes: 1001 }));
    expect(said()).toEqual(['close 1009 the message is larger than 1000 bytes']);
  });

  test('its fragments count together', () => {
    const { receive, said } = converseWebSocket({ messageBytesMax: 1000 });
    receive(binary(600, { isFinal: false }), clientFrame(0, '', { announcedBytes: 401 }));
    expect(said()).toEqual(['close 1009 the message is larger than 1000 bytes']);
  });

  test('a message of more fragments than fragmentsMax closes with 1008', () => {
    const { receive, said, heard } = converseWebSocket({ fragmentsMax: 3 });
    const part = more('', { isFinal: false });
    receive(text('', { isFinal: false }), part, more('ok'));
    expect(heard).toEqual(['text ok']);
    receive(text('', { isFinal: false }), part, part, part);
    expect(said()).toEqual(['close 1008 the message has more than 3 fragments']);
  });

  test('a flood of pings closes with 1008, and pings at a lower rate do not', () => {
    const { host, receive, said } = converseWebSocket({
      http: { controlFramesBurstMax: 10, controlFramesPerSecondMax: 5 },
    });
    receive(...Array.from({ length: 10 }, () => ping()));
    host.pass(1000);
    receive(...Array.from({ length: 5 }, () => ping()));
    expect(said()).toEqual(Array.from({ length: 15 }, () => 'pong'));
    receive(ping());
    expect(said()).toEqual(['close 1008 too many ping and pong frames']);
  });

  test('pongs nobody asked for count as pings do', () => {
    const { receive, said } = converseWebSocket({ http: { controlFramesBurstMax: 10 } });
    receive(...Array.from({ length: 11 }, () => clientFrame(10)));
    expect(said()).toEqual(['close 1008 too many ping and pong frames']);
  });
});

describe('back-pressure', () => {
  test('a paused connection delivers nothing and reads nothing, and goes on in order', () => {
    const { connection, receive, heard, transport } = converseWebSocket({
      handler: (opened) => ({
        onMessage: (data) => {
          heard.push(Buffer.from(data).toString());
          if (data.length === 1) opened.pause();
        },
      }),
    });
    receive(text('ab'), text('c'), text('de'), text('f'));
    expect(heard).toEqual(['ab', 'c']);
    expect(transport.isPaused).toBe(true);
    connection.resume();
    expect(heard).toEqual(['ab', 'c', 'de', 'f']);
    expect(transport.isPaused).toBe(true);
    connection.resume();
    expect(transport.isPaused).toBe(false);
  });

  test('send says when the client does not keep up, and onDrain when it does again', () => {
    const { connection, heard, host, transport } = converseWebSocket({ http: { outputBytesMax: 65_536 } });
    transport.isStuck = true;
    expect(connection.send(Buffer.alloc(40_000))).toBe(true);
    expect(connection.send(Buffer.alloc(40_000))).toBe(false);
    host.settle();
    expect(heard).toEqual([]);
    transport.unstick();
    connection.onWritable();
    expect(heard).toEqual(['drain']);
  });

  test('a client that does not read its pongs and echoes is not read either', () => {
    const { connection, receive, heard, host, transport } = converseWebSocket({
      http: { outputBytesMax: 65_536 },
      handler: (opened) => ({
        onMessage: (data) => {
          heard.push(`${data.length}`);
          opened.send(data);
        },
      }),
    });
    transport.isStuck = true;
    receive(binary(70_000), binary(70_000), binary(3), binary(4));
    host.settle();
    expect(heard).toEqual(['70000', '70000']);
    expect(transport.isPaused).toBe(true);
    transport.unstick();
    connection.onWritable();
    expect(heard).toEqual(['70000', '70000', '3', '4', 'drain']);
    expect(transport.isPaused).toBe(false);
  });

  test('a chunk of very many frames is read over several turns of the event loop', async () => {
    const { receive, heard } = converseWebSocket();
    receive(...Array.from({ length: 1500 }, () => text('x')), text('last'));
    expect(heard.length).toBeLessThan(600);
    while (heard.at(-1) !== 'text last') await new Promise(setImmediate);
    expect(heard.length).toBe(1501);
  });
});

describe('memory', () => {
  test('is counted while a message arrives, and given back after it was delivered', () => {
    const memory = new ScriptedMemory(Number.POSITIVE_INFINITY);
    const counts: number[] = [];
    const { receive, connection } = converseWebSocket({
      memory,
      handler: () => ({ onMessage: () => counts.push(memory.usedBytes) }),
    });
    expect(memory.usedBytes).toBe(connectionOverheadBytes);
    const wire = binary(10_000);
    receive(wire.subarray(0, 5000));
    expect(memory.usedBytes).toBeGreaterThan(connectionOverheadBytes + 4900);
    receive(wire.subarray(5000));
    expect(counts).toEqual([expect.closeTo(connectionOverheadBytes + 10_000, -3)]);
    expect(memory.usedBytes).toBe(connectionOverheadBytes);
    receive(ping('not a message'));
    expect(memory.usedBytes).toBe(connectionOverheadBytes);
    connection.onClosed();
    expect(memory.usedBytes).toBe(0);
  });

  test('counts each fragment, however small', () => {
    const memory = new ScriptedMemory(Number.POSITIVE_INFINITY);
    const { receive } = converseWebSocket({ memory });
    receive(text('x', { isFinal: false }), ...Array.from({ length: 99 }, () => more('x', { isFinal: false })));
    expect(memory.usedBytes).toBeGreaterThan(connectionOverheadBytes + 100 * 100);
    receive(more('x'));
    expect(memory.usedBytes).toBe(connectionOverheadBytes);
  });

  test('counts what the application keeps, and what waits to be sent', () => {
    const memory = new ScriptedMemory(Number.POSITIVE_INFINITY);
    const { connection, transport, host } = converseWebSocket({ memory });
    connection.hold(500);
    expect(memory.usedBytes).toBe(connectionOverheadBytes + 500);
    connection.give(500);
    transport.isStuck = true;
    connection.send(Buffer.alloc(10_000));
    host.settle();
    expect(memory.usedBytes).toBe(connectionOverheadBytes + 10_000);
    transport.unstick();
    expect(memory.usedBytes).toBe(connectionOverheadBytes);
  });

  test('a client over its share waits: nothing is read until there is memory', () => {
    const memory = new ScriptedMemory(connectionOverheadBytes + 1000);
    const { receive, heard, transport } = converseWebSocket({ memory });
    const wire = binary(3000);
    receive(wire.subarray(0, 2000));
    expect(transport.isPaused).toBe(true);
    receive(wire.subarray(2000));
    expect(heard).toEqual([]);
    memory.letGo();
    expect(heard).toEqual(['binary 3000']);
  });

  test('a client that waits for memory for too long is closed with 1013', () => {
    const memory = new ScriptedMemory(connectionOverheadBytes + 1000);
    const { receive, host, said } = converseWebSocket({ memory, http: { memoryWaitMsMax: 2000 } });
    receive(binary(3000).subarray(0, 2000));
    host.pass(4000);
    expect(said()).toEqual([expect.stringMatching('^close 1013 ')]);
    expect(memory.usedBytes).toBe(connectionOverheadBytes);
  });

  test('a client that brings too much while it waits is closed with 1013', () => {
    const { receive, said } = converseWebSocket({ memory: new ScriptedMemory(connectionOverheadBytes, 1000) });
    receive(binary(3000));
    expect(said()).toEqual([expect.stringMatching('^close 1013 ')]);
  });
});
