import { describe, expect, test } from 'vitest';
import { AddressRanges } from './address-ranges.ts';
import { type ConnectionDouble, ConnectionLimiterDouble } from './testing/connection-limiter-double.ts';

const open = (connections: readonly (ConnectionDouble | undefined)[]) => connections.map((one) => one?.isOpen ?? false);
const busy = Number.POSITIVE_INFINITY;

describe('connectionsPerAddressMax', () => {
  test('refuses one address and no other', () => {
    const at = new ConnectionLimiterDouble({ connectionsPerAddressMax: 2 });
    expect(open(['10.0.0.1', '10.0.0.1', '10.0.0.1', '10.0.0.2'].map((one) => at.dial(one)))).toEqual([
      true,
      true,
      false,
      true,
    ]);
    expect(at.refusals).toEqual([['connectionsPerAddressMax', '10.0.0.1']]);
  });

  test('counts an IPv6 network of 64 bits as one, and a mapped IPv4 address as itself', () => {
    const at = new ConnectionLimiterDouble({ connectionsPerAddressMax: 1 });
    at.mustDial('2001:db8::1');
    expect(at.dial('2001:db8::2')).toBeUndefined();
    at.mustDial('2001:db8:0:1::2');
    at.mustDial('10.0.0.1');
    expect(at.dial('::ffff:10.0.0.1')).toBeUndefined();
    expect(at.refusals.map(([, owner]) => owner)).toEqual(['2001:db8:0:0::/64', '10.0.0.1']);
  });

  test('closes the longest idle connection of the address for a new one', () => {
    const at = new ConnectionLimiterDouble({ connectionsPerAddressMax: 3, evictionIdleMsMin: 2000 });
    const other = at.mustDial('10.0.0.2');
    const [first, second, third] = ['10.0.0.1', '10.0.0.1', '10.0.0.1'].map((one) => at.mustDial(one)) as [
      ConnectionDouble,
      ConnectionDouble,
      ConnectionDouble,
    ];
    third.idleSinceMs = at.nowMs + 1000;
    first.idleSinceMs = at.nowMs + 2000;
    second.idleSinceMs = at.nowMs + 3000;
    at.nowMs += 5000;
    at.mustDial('10.0.0.1');
    expect(open([first, second, third, other])).toEqual([true, true, false, true]);
    expect(third.isGoodbyeSaid).toBe(true);
    at.mustDial('10.0.0.1');
    expect(open([first, second, other])).toEqual([false, true, true]);
    expect(at.limiter.connections).toBe(4);
  });

  test('closes none that is busy or was used a moment ago', () => {
    const at = new ConnectionLimiterDouble({ connectionsPerAddressMax: 2, evictionIdleMsMin: 2000 });
    const [first, second] = [at.mustDial('10.0.0.1'), at.mustDial('10.0.0.1')];
    first.idleSinceMs = busy;
    at.nowMs += 10_000;
    second.idleSinceMs = at.nowMs - 1999;
    expect(at.dial('10.0.0.1')).toBeUndefined();
    second.idleSinceMs = at.nowMs - 2000;
    at.mustDial('10.0.0.1');
    expect(open([first, second])).toEqual([true, false]);
  });

  test('a connection that closes is uncounted, once', () => {
    const at = new ConnectionLimiterDouble({ connectionsPerAddressMax: 1, evictionIdleMsMin: 0 });
    const first = at.mustDial('10.0.0.1');
    const second = at.mustDial('10.0.0.1');
    expect(open([first, second])).toEqual([false, true]);
    first.close();
    expect(at.limiter.connections).toBe(1);
    second.close();
    second.close();
    expect(at.limiter.connections).toBe(0);
  });

  test('an idle one is found in a few accepts however many busy ones are before it', () => {
    const at = new ConnectionLimiterDouble({ connectionsPerAddressMax: 1000, evictionIdleMsMin: 2000 });
    const connections = Array.from({ length: 1000 }, () => at.mustDial('10.0.0.1'));
    for (const one of connections.slice(0, 999)) one.idleSinceMs = busy;
    at.nowMs += 5000;
    let attempts = 1;
    while (at.dial('10.0.0.1') === undefined) attempts++;
    expect(attempts).toBeLessThanOrEqual(16);
    expect(connections[999]?.isOpen).toBe(false);
  });
});

describe('connectionsMax', () => {
  test('closes an idle connection of the address that has the most', () => {
    const at = new ConnectionLimiterDouble({ connectionsMax: 6, evictionIdleMsMin: 2000 });
    const few = ['10.0.0.1', '10.0.0.1'].map((one) => at.mustDial(one));
    const many = ['10.0.0.2', '10.0.0.2', '10.0.0.2'].map((one) => at.mustDial(one));
    const one = at.mustDial('10.0.0.3');
    at.nowMs += 5000;
    at.mustDial('10.0.0.4');
    expect([open(few), open(many), one.isOpen]).toEqual([[true, true], [false, true, true], true]);
  });

  test('goes on to the next address where the first has no idle one, and refuses where nobody has', () => {
    const at = new ConnectionLimiterDouble({ connectionsMax: 5, evictionIdleMsMin: 2000 });
    const workers = ['10.0.0.1', '10.0.0.1', '10.0.0.1'].map((one) => at.mustDial(one));
    const idle = ['10.0.0.2', '10.0.0.2'].map((one) => at.mustDial(one));
    for (const one of workers) one.idleSinceMs = busy;
    at.nowMs += 5000;
    at.mustDial('10.0.0.3');
    expect([open(workers), open(idle)]).toEqual([
      [true, true, true],
      [false, true],
    ]);
    (idle[1] as ConnectionDouble).idleSinceMs = busy;
    expect(at.dial('10.0.0.3')).toBeUndefined();
    expect(at.refusals).toEqual([['connectionsMax', '10.0.0.3']]);
  });

  test('leaves room for operators, also where their address is at its own limit', () => {
    const at = new ConnectionLimiterDouble({ connectionsMax: 3, connectionsPerAddressMax: 2, operatorConnections: 2 });
    for (const address of ['10.0.0.1', '10.0.0.1', '10.0.0.2']) at.mustDial(address);
    expect(at.dial('10.0.0.3')).toBeUndefined();
    at.mustDial('10.0.0.1', { isForOperators: true });
    at.mustDial('10.0.0.3', { isForOperators: true });
    expect(at.dial('10.0.0.4', { isForOperators: true })).toBeUndefined();
    expect(at.limiter.connections).toBe(5);
  });
});

describe('trusted proxies', () => {
  const trustedProxies = new AddressRanges(['10.9.0.0/16']);

  test('are not limited by address', () => {
    const at = new ConnectionLimiterDouble(
      { connectionsPerAddressMax: 1, handshakesPerAddressMax: 1 },
      { trustedProxies },
    );
    for (let count = 0; count < 5; count++) at.mustDial('10.9.0.1', { isEncrypted: true });
    at.mustDial('10.0.0.1');
    expect(at.dial('10.0.0.1')).toBeUndefined();
  });

  test('do not lose idle connections to unknown addresses, but to each other', () => {
    const at = new ConnectionLimiterDouble({ connectionsMax: 3, evictionIdleMsMin: 0 }, { trustedProxies });
    const proxied = ['10.9.0.1', '10.9.0.1', '10.9.0.2'].map((one) => at.mustDial(one));
    expect(at.dial('10.0.0.1')).toBeUndefined();
    expect(open(proxied)).toEqual([true, true, true]);
    at.mustDial('10.9.0.2');
    expect(open(proxied)).toEqual([false, true, true]);
  });

  test('evict an idle unknown address first', () => {
    const at = new ConnectionLimiterDouble({ connectionsMax: 2, evictionIdleMsMin: 0 }, { trustedProxies });
    const [proxied, stranger] = [at.mustDial('10.9.0.1'), at.mustDial('10.0.0.1')];
    at.mustDial('10.9.0.1');
    expect(open([proxied, stranger])).toEqual([true, false]);
  });
});

describe('TLS handshakes', () => {
  const encrypted = { isEncrypted: true };

  test('under way have a limit of their own, by address and in all', () => {
    const at = new ConnectionLimiterDouble({ handshakesMax: 3, handshakesPerAddressMax: 2 });
    const [first] = ['10.0.0.1', '10.0.0.1'].map((one) => at.mustDial(one, encrypted)) as [ConnectionDouble];
    expect(at.dial('10.0.0.1', encrypted)).toBeUndefined();
    at.mustDial('10.0.0.2', encrypted);
    expect(at.dial('10.0.0.3', encrypted)).toBeUndefined();
    expect(at.refusals).toEqual([
      ['handshakesPerAddressMax', '10.0.0.1'],
      ['handshakesMax', '10.0.0.3'],
    ]);
    at.endHandshake(first);
    at.mustDial('10.0.0.1', encrypted);
    expect([at.limiter.handshakes, at.limiter.connections]).toEqual([3, 4]);
  });

  test('that stall are closed for new ones, those of the address with the most first', () => {
    const at = new ConnectionLimiterDouble({ handshakesMax: 3, evictionIdleMsMin: 2000 });
    const stalled = ['10.0.0.1', '10.0.0.1'].map((one) => at.mustDial(one, encrypted));
    const one = at.mustDial('10.0.0.2', encrypted);
    at.nowMs += 1999;
    expect(at.dial('10.0.0.3', encrypted)).toBeUndefined();
    at.nowMs += 1;
    at.mustDial('10.0.0.3', encrypted);
    expect([open(stalled), one.isOpen]).toEqual([[false, true], true]);
  });

  test('count as connections, and stalled ones go before idle connections', () => {
    const at = new ConnectionLimiterDouble({ connectionsPerAddressMax: 2, evictionIdleMsMin: 2000 });
    const [idle, stalled] = [at.mustDial('10.0.0.1', encrypted), at.mustDial('10.0.0.1', encrypted)];
    at.endHandshake(idle);
    at.nowMs += 3000;
    at.mustDial('10.0.0.1', encrypted);
    expect(open([idle, stalled])).toEqual([true, false]);
  });
});

test('descriptors from a number on are not used for connections', () => {
  const at = new ConnectionLimiterDouble(
    { evictionIdleMsMin: 2000, operatorConnections: 4 },
    { descriptorsMax: () => 100 },
  );
  const first = at.mustDial('10.0.0.1', {}, 99);
  expect(at.dial('10.0.0.2', {}, 100)).toBeUndefined();
  expect(at.refusals).toEqual([['descriptors', '10.0.0.2']]);
  at.mustDial('10.0.0.2', { isForOperators: true }, 103);
  expect(at.dial('10.0.0.2', { isForOperators: true }, 104)).toBeUndefined();
  at.nowMs += 2000;
  at.mustDial('10.0.0.2', {}, 100);
  expect(first.isOpen).toBe(false);
});
