import { describe, expect, test } from 'vitest';
import { drainQuietMs } from '../wire/connection-check.ts';
import { ScriptedMemory } from '../wire/testing/scripted-memory.ts';
import type { Connection } from '../wire/transport.ts';
import type { OnUpgrade, ProtocolUpgrade, UpgradedTransport } from '../wire/upgrade.ts';
import type { WireExchange, WireHandler } from '../wire/wire-exchange.ts';
import { answerPath, converseHttp1, echo, get, post, receiveShared } from './testing/conversation.ts';

describe('answers', () => {
  test('a whole answer declares its length', () => {
    const { receive, said } = converseHttp1(answerPath);
    receive(get('/a'));
    expect(said()).toBe('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n/a');
  });

  test('a streamed body is chunked, with its trailers', () => {
    const { receive, said } = converseHttp1((exchange) => {
      exchange.start(200, [['x-a', 'b']]);
      exchange.write(Buffer.from('hello'));
      exchange.write(Buffer.alloc(0));
      exchange.end([['x-end', 'yes']]);
    });
    receive(get());
    expect(said()).toBe(
      'HTTP/1.1 200 OK\r\nx-a: b\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nx-end: yes\r\n\r\n',
    );
  });

  test('for HTTP/1.0 a streamed body ends with the connection', () => {
    const { receive, said, transport } = converseHttp1((exchange) => {
      exchange.start(200, []);
      exchange.write(Buffer.from('hello'));
      exchange.end([['x-end', 'dropped']]);
    });
    receive('GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n');
    expect(said()).toBe('HTTP/1.1 200 OK\r\nconnection: close\r\n\r\nhello');
    expect(transport.isEnded).toBe(true);
  });

  test('HTTP/1.0 that asked for keep-alive is told that it is granted', () => {
    const { receive, said } = converseHttp1(answerPath);
    receive('GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n');
    expect(said()).toBe('HTTP/1.1 200 OK\r\ncontent-length: 2\r\nconnection: keep-alive\r\n\r\n/a');
  });

  test('HEAD, 204 and 304 have no body', () => {
    const { receive, said } = converseHttp1((exchange) =>
      exchange.answer(Number(exchange.path.slice(1)), [], Buffer.from('body'), undefined, undefined),
    );
    receive(`${get('/204')}${get('/304')}HEAD /200 HTTP/1.1\r\nHost: x\r\n\r\n`);
    expect(said()).toBe(
      'HTTP/1.1 204 No Content\r\n\r\nHTTP/1.1 304 Not Modified\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\n',
    );
  });

  test('a field with a line end in it cannot be sent', () => {
    let refused: unknown;
    const { receive, said } = converseHttp1((exchange) => {
      try {
        exchange.answer(200, [['x-a', 'b\r\nset-cookie: c']], undefined, undefined, undefined);
      } catch (error) {
        refused = error;
        exchange.answer(500, [], undefined, undefined, undefined);
      }
    });
    receive(get());
    expect(refused).toBeInstanceOf(TypeError);
    expect(said()).toBe('HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n');
  });
});

test('more fields than headerFieldsMax are refused', () => {
  const { receive, said } = converseHttp1(answerPath, { headerFieldsMax: 8 });
  receive(get('/', 'a: b\r\n'.repeat(7)));
  expect(said()).toContain('200 OK');
  receive(get('/', 'a: b\r\n'.repeat(8)));
  expect(said()).toContain('431 Request Header Fields Too Large');
});

describe('pipelining', () => {
  test('answers keep the order of their requests, and one is handled at a time', () => {
    const waiting: WireExchange[] = [];
    const { receive, said } = converseHttp1((exchange) => waiting.push(exchange));
    receive(get('/1') + get('/2') + get('/3'));
    for (let turn = 1; turn <= 3; turn++) {
      expect(waiting).toHaveLength(turn);
      waiting[turn - 1]?.answer(200, [], Buffer.from(`<${turn}>`), undefined, undefined);
    }
    expect(said().match(/<\d>/g)).toEqual(['<1>', '<2>', '<3>']);
  });

  test('a client that pipelines more than it may hold is not read further until there is room', () => {
    const waiting: WireExchange[] = [];
    const { receive, transport } = converseHttp1((exchange) => waiting.push(exchange), { headBytesMax: 1024 });
    receive(get('/1'));
    while (!transport.isPaused) receive(get('/next'));
    waiting[0]?.answer(200, [], undefined, undefined, undefined);
    expect(transport.isPaused).toBe(false);
  });

  test('a client that pipelines without reading is cut off after responseStallMsMax, however much it sends', () => {
    const { receive, transport, host } = converseHttp1(answerPath, {
      outputBytesMax: 65_536,
      responseStallMsMax: 5000,
    });
    transport.isStuck = true;
    for (let second = 0; second < 7; second++) {
      receive(get().repeat(2000));
      host.pass(1000);
    }
    expect(transport.isDestroyed).toBe(true);
  });
});

test('pipelined requests that wait for their turn are under way, and a connection that is closed meanwhile takes no more', async () => {
  const paths: string[] = [];
  const { host, connection, transport, receive, said } = converseHttp1((exchange) => {
    paths.push(exchange.path);
    answerPath(exchange);
  });
  host.requestsPerTurn = 2;
  receive(get('/1') + get('/2') + get('/3'));
  said();
  expect([paths, connection.idleSinceMs]).toEqual([['/1', '/2'], Number.POSITIVE_INFINITY]);
  while (paths.length < 3) await new Promise(setImmediate);
  said();
  expect(connection.idleSinceMs).toBeLessThan(Number.POSITIVE_INFINITY);
  receive(get('/4') + get('/5') + get('/6'));
  connection.endIdle();
  expect(transport.isEnded).toBe(true);
  // Later than what waited for a turn.
  for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate);
  receive(get('/7'));
  expect(paths).toEqual(['/1', '/2', '/3', '/4', '/5']);
});

test('answers do not pile up for a client that pipelines but reads none', () => {
  const large = Buffer.alloc(50_000);
  let handled = 0;
  const { receive, transport, connection } = converseHttp1(
    (exchange) => {
      handled++;
      exchange.answer(200, [], large, undefined, undefined);
    },
    { outputBytesMax: 65_536 },
  );
  transport.isStuck = true;
  receive(get().repeat(100));
  expect(handled).toBe(2);
  expect(transport.pendingBytes).toBeLessThan(2 * 65_536);
  for (let round = 0; handled < 100 && round < 100; round++) {
    transport.unstick();
    transport.isStuck = true;
    connection.onWritable();
  }
  expect(handled).toBe(100);
});

describe('bodies', () => {
  test('a body waits for its reader, with back-pressure at streamWindowBytes', () => {
    let exchange: WireExchange | undefined;
    const { receive, said, transport } = converseHttp1(
      (opened) => {
        exchange = opened;
      },
      { streamWindowBytes: 65_535 },
    );
    receive(post('Content-Length: 100000\r\n'));
    receive('x'.repeat(65_000));
    expect(transport.isPaused).toBe(false);
    receive('x'.repeat(1000));
    expect(transport.isPaused).toBe(true);
    const opened = exchange as WireExchange;
    echo(opened);
    expect(transport.isPaused).toBe(false);
    receive('x'.repeat(34_000));
    expect(said()).toContain('content-length: 100000');
  });

  test('an unread body is discarded up to discardBytesMax, and the connection kept', () => {
    const { receive, said, transport } = converseHttp1(answerPath, { discardBytesMax: 1000 });
    receive(post('Content-Length: 900\r\n'));
    expect(said()).not.toContain('close');
    receive(`${'x'.repeat(900)}${get('/next')}`);
    expect(said()).toContain('/next');
    receive(post('Content-Length: 1001\r\n'));
    expect(said()).toContain('connection: close');
    expect(transport.isEnded).toBe(true);
  });

  test('an unread chunked body over discardBytesMax closes the connection', () => {
    const { receive, transport } = converseHttp1(answerPath, { discardBytesMax: 1000 });
    receive(post('Transfer-Encoding: chunked\r\n'));
    receive(`320\r\n${'x'.repeat(800)}\r\n`);
    expect(transport.isEnded).toBe(false);
    receive(`320\r\n${'x'.repeat(800)}\r\n`);
    expect(transport.isEnded).toBe(true);
  });

  test('a client that waits for 100 gets it only when the body is read', () => {
    let exchange: WireExchange | undefined;
    const { receive, said } = converseHttp1((opened) => {
      exchange = opened;
    });
    receive(post('Content-Length: 2\r\n', 'Expect: 100-continue\r\n'));
    expect(said()).toBe('');
    echo(exchange as WireExchange);
    expect(said()).toBe('HTTP/1.1 100 Continue\r\n\r\n');
    receive('ab');
    expect(said()).toContain('\r\n\r\nab');
  });

  test('the connection of a client that waits for 100 and is refused is closed: its body may or may not come', () => {
    const { receive, said, transport } = converseHttp1((exchange) =>
      exchange.answer(413, [], undefined, undefined, undefined),
    );
    receive(post('Content-Length: 2\r\n', 'Expect: 100-continue\r\n'));
    expect(said()).toContain('413 Content Too Large\r\ncontent-length: 0\r\nconnection: close');
    expect(transport.isEnded).toBe(true);
  });

  test('the connection of a client that asks for 100 and does not wait for it is kept once its body is there', () => {
    const exchanges: WireExchange[] = [];
    const { receive, said, transport } = converseHttp1((opened) => exchanges.push(opened));
    receive(`${post('Content-Length: 2\r\n', 'Expect: 100-continue\r\n')}ab${get('/next')}`);
    echo(exchanges[0] as WireExchange);
    expect(said()).toBe('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nab');
    answerPath(exchanges[1] as WireExchange);
    expect(said()).toContain('/next');
    expect(transport.isEnded).toBe(false);
  });

  test('a body that is malformed after its answer closes the connection without another answer', () => {
    const { receive, said, transport } = converseHttp1(answerPath);
    receive(post('Transfer-Encoding: chunked\r\n'));
    expect(said()).toContain('200 OK');
    receive('not a chunk');
    expect(said()).toBe('');
    expect(transport.isEnded).toBe(true);
  });

  test('a malformed chunked body aborts the request in progress', () => {
    const reasons: string[] = [];
    const { receive, said } = converseHttp1((exchange) => {
      exchange.listener = {
        onData: () => {},
        onEnd: () => {},
        onAbort: (reason) => reasons.push(reason),
        onDrain: () => {},
        onRefused: () => {},
      };
      exchange.resume();
    });
    receive(post('Transfer-Encoding: chunked\r\n'));
    receive('5\r\nhelloX');
    expect(reasons).toEqual(['the chunked encoding of the body is invalid']);
    expect(said()).toContain('400 Bad Request');
  });
});

describe('upgrades', () => {
  const ask = get('/socket', 'Connection: Upgrade\r\n', 'Upgrade: websocket\r\n');

  /** A connection that takes over, and notes what it is told. */
  function successor() {
    const heard: string[] = [];
    const taken: UpgradedTransport[] = [];
    const connection: Connection = {
      receive: (bytes) => heard.push(bytes.toString()),
      receiveEnd: () => heard.push('end'),
      onWritable: () => {},
      onClosed: () => heard.push('closed'),
      flush: () => {},
      drain: () => {},
      endIdle: () => {},
      idleSinceMs: 0,
    };
    const upgrade: ProtocolUpgrade = {
      take: (upgraded) => {
        taken.push(upgraded);
        return connection;
      },
    };
    return { heard, taken, connection, upgrade };
  }

  test('an upgraded connection is left to its successor, with the bytes that followed the request', () => {
    const { heard, taken, connection: next, upgrade } = successor();
    const switched: Connection[] = [];
    const asked: string[] = [];
    const memory = new ScriptedMemory(Number.POSITIVE_INFINITY);
    const { receive, said, transport } = converseHttp1(
      answerPath,
      {},
      {
        onUpgrade: ({ path }) => {
          asked.push(path);
          return upgrade;
        },
        switchTo: (connection) => switched.push(connection),
      },
      { memory },
    );
    receive(`${get('/before')}${ask}frames`);
    expect(asked).toEqual(['/socket']);
    expect(switched.map((one) => one === next)).toEqual([true]);
    expect(heard).toEqual(['frames']);
    expect(said()).toMatch(/\r\n\r\n\/before$/);
    expect(transport.isEnded).toBe(false);
    // The request holds nothing any more; the connection's memory is closed by the successor.
    expect([memory.usedBytes, memory.closedConnections]).toEqual([0, 0]);
    taken[0]?.release();
    expect(memory.closedConnections).toBe(1);
  });

  const switchTo = () => {};

  test('memory of an answer before an upgrade is released when the kernel has it', () => {
    let before: WireExchange | undefined;
    let released = 0;
    const upgrades = { onUpgrade: () => successor().upgrade, switchTo };
    const { receive, said, transport } = converseHttp1((exchange) => (before = exchange), {}, upgrades);
    receive(`${get('/before')}${ask}`);
    transport.isStuck = true;
    before?.start(200, []);
    before?.write(Buffer.alloc(5_000));
    before?.end();
    before?.whenSent(() => released++);
    said();
    expect([released, transport.pendingBytes > 5_000]).toEqual([0, true]);
    transport.unstick();
    expect(released).toBe(1);
  });

  test('an upgrade that nobody takes is an ordinary request', () => {
    const { receive, said } = converseHttp1(answerPath, {}, { onUpgrade: () => undefined, switchTo });
    receive(ask);
    expect(said()).toContain('\r\n\r\n/socket');
  });

  test('a refused upgrade is answered with the reason, and the connection stays HTTP/1.1', () => {
    const onUpgrade: OnUpgrade = () => (exchange) => exchange.answer(426, [], Buffer.from('why'), undefined, undefined);
    const { receive, said } = converseHttp1(answerPath, {}, { onUpgrade, switchTo });
    receive(`${ask}${get('/after')}`);
    const [refused = '', after = ''] = said().split(/(?<=why)/);
    expect(refused).toMatch(/^HTTP\/1\.1 426 Upgrade Required\r\n/);
    expect(refused).toContain('upgrade: websocket\r\nconnection: upgrade\r\n');
    expect(after).toMatch(/^HTTP\/1\.1 200 OK\r\n.*\/after$/s);
  });

  test('what follows a repeated upgrade request is kept by the successor, not by the memory that all sockets are read into', () => {
    const { heard, upgrade } = successor();
    const decisions: ReturnType<OnUpgrade>[] = [undefined, upgrade];
    const { connection } = converseHttp1(answerPath, {}, { onUpgrade: () => decisions.shift(), switchTo });
    receiveShared(connection, ask);
    receiveShared(connection, `${ask}frames`);
    expect(heard).toEqual(['frames']);
  });

  test('a request with a body is never an upgrade', () => {
    const { receive, said } = converseHttp1(echo, {}, { onUpgrade: () => successor().upgrade, switchTo });
    receive(post('Connection: upgrade\r\n', 'Upgrade: websocket\r\n', 'Content-Length: 2\r\n'));
    receive('ab');
    expect(said()).toContain('\r\n\r\nab');
  });

  test('a connection that drains begins no other protocol', () => {
    const { taken, upgrade } = successor();
    const { connection, receive, said } = converseHttp1(answerPath, {}, { onUpgrade: () => upgrade, switchTo });
    connection.drain();
    receive(ask);
    expect(said()).toContain('\r\n\r\n/socket');
    expect(taken.length).toBe(0);
  });
});

describe('endings', () => {
  test('a client that disconnects cancels its request', () => {
    const reasons: string[] = [];
    const { receive, connection } = converseHttp1((exchange) => {
      exchange.listener = {
        onData: () => {},
        onEnd: () => {},
        onAbort: (reason) => reasons.push(reason),
        onDrain: () => {},
        onRefused: () => {},
      };
      exchange.resume();
    });
    receive(get());
    connection.receiveEnd();
    connection.onClosed();
    expect(reasons).toEqual(['the client closed the connection']);
  });

  test('drain answers a request that was in transit to an idle connection, then closes', () => {
    const late = converseHttp1(answerPath);
    late.receive(get('/1'));
    late.connection.drain();
    late.receive(get('/2'));
    const said = late.said();
    expect(said.match(/HTTP\/1.1 200/g)).toHaveLength(2);
    expect(said.match(/connection: close/g)).toHaveLength(1);
    expect(late.transport.isEnded).toBe(true);
  });

  test('drain closes idle connections after drainQuietMs and busy ones after their answer', () => {
    const idle = converseHttp1(answerPath);
    idle.connection.drain();
    expect(idle.transport.isEnded).toBe(false);
    idle.host.pass(drainQuietMs + 200);
    expect(idle.transport.isEnded).toBe(true);
    const waiting: WireExchange[] = [];
    const busy = converseHttp1((exchange) => waiting.push(exchange));
    busy.receive(get('/1') + get('/2'));
    busy.connection.drain();
    expect(busy.transport.isEnded).toBe(false);
    waiting[0]?.answer(200, [], undefined, undefined, undefined);
    expect(busy.said()).toContain('connection: close');
    expect(busy.transport.isEnded).toBe(true);
    expect(waiting).toHaveLength(1);
  });

  test('drain waits for a pipelined request that waits for a turn of the event loop', async () => {
    const { connection, host, receive, said, transport } = converseHttp1(answerPath);
    host.requestsPerTurn = 2;
    receive(get('/1') + get('/2') + get('/3'));
    connection.drain();
    host.pass(2 * drainQuietMs);
    expect(transport.isEnded).toBe(false);
    await new Promise((resolve) => setImmediate(resolve));
    expect(said()).toMatch(/\/1.*\/2.*connection: close.*\/3$/s);
    expect(transport.isEnded).toBe(true);
  });

  test('drain waits for a pipelined request that waits for the client to read the answers before it', () => {
    const large: WireHandler = (exchange) => {
      const body = exchange.path === '/1' ? Buffer.alloc(65_536, '.') : Buffer.from(exchange.path);
      exchange.answer(200, [], body, undefined, undefined);
    };
    const { connection, host, receive, said, transport } = converseHttp1(large, { outputBytesMax: 65_536 });
    transport.isStuck = true;
    receive(get('/1') + get('/2'));
    connection.drain();
    host.pass(2 * drainQuietMs);
    expect(transport.isEnded).toBe(false);
    transport.unstick();
    connection.onWritable();
    expect(said()).toMatch(/connection: close.*\/2$/s);
    expect(transport.isEnded).toBe(true);
  });

  test('memory that waits for the kernel is released when it was written, or with the connection', () => {
    let released = 0;
    const { receive, transport, host } = converseHttp1((exchange) =>
      exchange.answer(200, [], Buffer.alloc(exchange.path === '/small' ? 10 : 10_000), undefined, () => released++),
    );
    transport.isStuck = true;
    receive(get('/small') + get('/large'));
    host.settle();
    expect(released).toBe(1);
    transport.unstick();
    expect(released).toBe(2);
  });
});
