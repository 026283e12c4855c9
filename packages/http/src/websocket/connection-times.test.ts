import { describe, expect, test } from 'vitest';
import { converseWebSocket } from './testing/conversation.ts';
import { clientClose, clientFrame } from './testing/frames.ts';

const hour = 3_600_000;

describe('closing', () => {
  test('the server closes, the client answers, and the transport is closed by the server', () => {
    const { connection, receive, heard, said, transport, releases } = converseWebSocket();
    connection.close(4000, 'enough');
    expect(said()).toEqual(['close 4000 enough']);
    expect(connection.send('late')).toBe(false);
    receive(clientFrame(1, 'crossed the close frame'), clientClose(4000));
    expect(heard).toEqual(['closed 4000']);
    expect(said()).toEqual([]);
    expect(transport.isEnded).toBe(true);
    connection.onClosed();
    expect(heard).toEqual(['closed 4000']);
    expect(releases()).toBe(1);
  });

  test('a close frame without a code is answered without one', () => {
    const { receive, heard, said } = converseWebSocket();
    receive(clientFrame(8));
    expect(said()).toEqual(['close']);
    expect(heard).toEqual(['closed 1005']);
  });

  test('a client that does not answer the close frame within closeMsMax is closed without', () => {
    const { connection, heard, host, transport } = converseWebSocket({ closeMsMax: 3000 });
    connection.close();
    host.pass(2900);
    expect(transport.isEnded).toBe(false);
    host.pass(1200);
    expect(transport.isEnded).toBe(true);
    expect(heard).toEqual(['closed 1006 the client did not answer the close frame']);
    host.pass(3000);
    expect(transport.isDestroyed).toBe(true);
  });

  test('the answer to a close frame is found behind messages that a paused application did not read', () => {
    const { connection, receive, heard } = converseWebSocket();
    connection.pause();
    receive(clientFrame(1, 'unread'), clientClose(1000));
    expect(heard).toEqual([]);
    connection.close();
    expect(heard).toEqual(['closed 1000']);
  });

  test('a reason that is too long is cut between two characters', () => {
    const { connection, said } = converseWebSocket();
    connection.close(1000, 'ä'.repeat(100));
    expect(said()).toEqual([`close 1000 ${'ä'.repeat(61)}`]);
  });

  test('a code that may not be sent is a bug of the application', () => {
    const { connection } = converseWebSocket();
    for (const code of [999, 1004, 1005, 1006, 1015, 2999, 5000])
      expect(() => connection.close(code)).toThrow(`${code}`);
  });

  test('a client that half-closes without a close frame is lost', () => {
    const { connection, heard, transport } = converseWebSocket();
    connection.receiveEnd();
    expect(heard).toEqual(['closed 1006 the client closed the connection']);
    expect(transport.isEnded).toBe(true);
  });

  test('bytes after the end are discarded, and at some point no longer read', () => {
    const { receive, heard, transport } = converseWebSocket();
    receive(clientClose(1000));
    receive(clientFrame(1, 'late'));
    expect(transport.isPaused).toBe(false);
    receive(Buffer.alloc(100_000));
    expect(transport.isPaused).toBe(true);
    expect(heard).toEqual(['closed 1000']);
  });
});

describe('draining', () => {
  test('the application may say something before the connection is closed with 1001', () => {
    const { connection, said } = converseWebSocket({
      handler: (opened) => ({ onGoingAway: () => void opened.send('draining') }),
    });
    connection.drain();
    expect(said()).toEqual(['text draining', 'close 1001 the server closes this connection; connect again']);
  });

  test('a connection of connectionAgeMsMax is drained, and destroyed after its grace', () => {
    const { heard, host, transport } = converseWebSocket({
      closeMsMax: 600_000,
      http: { connectionAgeMsMax: 10_000, connectionAgeGraceMs: 5000, idleMsMax: hour, keepAlivePingMs: hour },
    });
    host.pass(9900);
    expect(heard).toEqual([]);
    host.pass(1200);
    expect(heard).toEqual(['going away']);
    expect(transport.isDestroyed).toBe(false);
    host.pass(6000);
    expect(transport.isDestroyed).toBe(true);
  });
});

describe('idle connections', () => {
  const http = { idleMsMax: 10_000, keepAlivePingMs: hour };

  test('are closed with 1001 after idleMsMax without a message', () => {
    const { host, receive, said } = converseWebSocket({ http });
    host.pass(8000);
    receive(clientFrame(1, 'x'));
    host.pass(8000);
    receive(clientFrame(9));
    expect(said()).toEqual(['pong']);
    host.pass(3000);
    expect(said()).toEqual(['close 1001 the connection was idle']);
  });

  test('do not include those that the application keeps busy', () => {
    const { connection, host, said } = converseWebSocket({ http });
    connection.isBusy = true;
    expect(connection.idleSinceMs).toBe(Number.POSITIVE_INFINITY);
    host.pass(60_000);
    expect(said()).toEqual([]);
    connection.isBusy = false;
    host.pass(1100);
    expect(said()).toEqual(['close 1001 the connection was idle']);
  });

  test('are known to the limiter of connections by their last message', () => {
    const { connection, host, receive } = converseWebSocket({ http });
    const bornMs = connection.idleSinceMs;
    host.pass(3000);
    receive(clientFrame(1, 'x', { isFinal: false }));
    expect(connection.idleSinceMs).toBe(bornMs);
    receive(clientFrame(0, 'x'));
    expect(connection.idleSinceMs).toBe(bornMs + 3000);
  });
});

describe('keep-alive', () => {
  const http = { keepAlivePingMs: 10_000, keepAliveTimeoutMs: 5000, idleMsMax: hour };

  test('a silent client is pinged, and stays while it answers', () => {
    const { host, receive, said, transport } = converseWebSocket({ http });
    for (let round = 0; round < 3; round++) {
      host.pass(11_000);
      expect(said()).toEqual(['ping']);
      receive(clientFrame(10));
    }
    expect(transport.isDestroyed).toBe(false);
  });

  test('a client that does not answer within keepAliveTimeoutMs is closed', () => {
    const { host, said, transport } = converseWebSocket({ http });
    host.pass(11_000);
    expect(said()).toEqual(['ping']);
    host.pass(6000);
    expect(transport.isDestroyed).toBe(true);
  });

  test('a paused connection is not pinged: nobody would read the answer', () => {
    const { connection, host, said, transport } = converseWebSocket({ http });
    connection.pause();
    host.pass(60_000);
    expect(said()).toEqual([]);
    expect(transport.isDestroyed).toBe(false);
  });
});

describe('slow clients', () => {
  test('a message must bring bodyBytesPerSecondMin, and pings are no progress', () => {
    const { host, receive, said } = converseWebSocket({
      http: { bodyStallMsMax: 10_000, bodyBytesPerSecondMin: 10, idleMsMax: hour },
    });
    receive(clientFrame(2, Buffer.alloc(1000)).subarray(0, 8 + 10));
    for (let second = 0; second < 12; second++) {
      host.pass(1000);
      receive(Buffer.from([7]));
    }
    expect(said()).toEqual(['close 1008 the message arrived too slowly']);
  });

  test('control frames inside a message do not keep it alive', () => {
    const { host, receive, said } = converseWebSocket({
      http: { bodyStallMsMax: 10_000, bodyBytesPerSecondMin: 10, idleMsMax: hour },
    });
    receive(clientFrame(1, 'x', { isFinal: false }));
    for (let second = 0; second < 12; second++) {
      host.pass(1000);
      receive(clientFrame(10, Buffer.alloc(125)));
    }
    expect(said()).toEqual(['close 1008 the message arrived too slowly']);
  });

  test('a message must be complete within bodyMsMax', () => {
    const { host, receive, said } = converseWebSocket({ http: { bodyMsMax: 5000, idleMsMax: hour } });
    receive(clientFrame(2, Buffer.alloc(60_000), { isFinal: false }));
    for (let second = 0; second < 8; second++) {
      host.pass(1000);
      receive(clientFrame(0, Buffer.alloc(60_000), { isFinal: false }));
    }
    expect(said()).toEqual(['close 1008 the message arrived too slowly']);
  });

  test('between messages nothing has to arrive', () => {
    const { host, receive, said } = converseWebSocket({
      http: { bodyStallMsMax: 1000, idleMsMax: hour, keepAlivePingMs: hour },
    });
    receive(clientFrame(1, 'x'));
    host.pass(60_000);
    expect(said()).toEqual([]);
  });

  test('a client that reads nothing of what waits for it is cut off', () => {
    const { connection, heard, host, transport } = converseWebSocket({
      http: { responseStallMsMax: 5000, idleMsMax: hour },
    });
    transport.isStuck = true;
    connection.send(Buffer.alloc(1000));
    host.pass(12_000);
    expect(transport.isDestroyed).toBe(true);
    connection.onClosed();
    expect(heard).toEqual(['closed 1006 the connection was closed']);
  });
});
