import { describe, expect, test } from 'vitest';
import type { WireExchange } from '../wire/wire-exchange.ts';
import { answerPath, converseHttp1, echo, get, post } from './testing/conversation.ts';

describe('times', () => {
  const slow = {
    prefaceMsMax: 5000,
    headMsMax: 5000,
    idleMsMax: 20_000,
    bodyStallMsMax: 5000,
    responseStallMsMax: 5000,
  };

  test('a head must be complete within headMsMax, even if bytes keep arriving', () => {
    const { receive, said, host, transport } = converseHttp1(answerPath, slow);
    for (const letter of 'GET /') {
      receive(letter);
      host.pass(900);
    }
    expect(said()).toBe('');
    host.pass(2000);
    expect(said()).toContain('408 Request Timeout');
    expect(transport.isEnded).toBe(true);
    host.pass(3000);
    expect(transport.isDestroyed).toBe(true);
  });

  test('a body must keep bodyBytesPerSecondMin', () => {
    const { receive, said, host } = converseHttp1(echo, { ...slow, bodyBytesPerSecondMin: 100 });
    receive(post('Content-Length: 100000\r\n'));
    for (let second = 0; second < 4; second++) {
      receive('x'.repeat(200));
      host.pass(1000);
    }
    expect(said()).toBe('');
    host.pass(2000);
    for (let second = 0; second < 7; second++) {
      receive('x');
      host.pass(1000);
    }
    expect(said()).toContain('408 Request Timeout');
  });

  test('a body must be complete within bodyMsMax, however fast it is', () => {
    const { receive, said, host } = converseHttp1(echo, { bodyMsMax: 5000 });
    receive(post('Content-Length: 100000\r\n'));
    for (let second = 0; second < 6; second++) {
      receive('x'.repeat(1000));
      host.pass(1000);
    }
    expect(said()).toContain('408 Request Timeout');
  });

  test('a connection without a request is closed after idleMsMax, one that never had any after prefaceMsMax', () => {
    const fresh = converseHttp1(answerPath, slow);
    fresh.host.pass(6000);
    expect(fresh.transport.isEnded).toBe(true);
    const used = converseHttp1(answerPath, slow);
    used.receive(get());
    used.host.pass(19_000);
    expect(used.transport.isEnded).toBe(false);
    used.host.pass(2000);
    expect(used.transport.isEnded).toBe(true);
  });

  test('a client that reads nothing of its answer for responseStallMsMax is cut off', () => {
    const { receive, host, transport } = converseHttp1(answerPath, slow);
    transport.isStuck = true;
    receive(get());
    host.pass(7000);
    expect(transport.isDestroyed).toBe(true);
  });

  test('a client must take responseBytesPerSecondMin of an answer that waits for it', () => {
    const limits = { ...slow, responseBytesPerSecondMin: 100 };
    const large = (exchange: WireExchange): void =>
      exchange.answer(200, [], Buffer.alloc(10_000), undefined, undefined);
    for (const [bytesPerSecond, isCutOff] of [
      [99, true],
      [150, false],
    ] as const) {
      const { receive, host, transport } = converseHttp1(large, limits);
      transport.isStuck = true;
      receive(get());
      for (let second = 0; second < 20; second++) {
        transport.takeSome(bytesPerSecond);
        host.pass(1000);
      }
      expect(transport.isDestroyed).toBe(isCutOff);
    }
  });

  test('a request that takes long to answer breaks no time limit', () => {
    const { receive, host, transport } = converseHttp1(() => {}, slow);
    receive(get());
    host.pass(100_000);
    expect(transport.isEnded).toBe(false);
  });

  test('a connection older than connectionAgeMsMax closes after its answer, or after connectionAgeGraceMs', () => {
    const waiting: WireExchange[] = [];
    const limits = { connectionAgeMsMax: 10_000, connectionAgeGraceMs: 5000 };
    const { receive, said, host, transport } = converseHttp1((exchange) => waiting.push(exchange), limits);
    receive(get());
    host.pass(11_000);
    expect(transport.isEnded).toBe(false);
    waiting[0]?.answer(200, [], undefined, undefined, undefined);
    expect(said()).toContain('connection: close');
    const stuck = converseHttp1(() => {}, limits);
    stuck.receive(get());
    stuck.host.pass(17_000);
    expect(stuck.transport.isDestroyed).toBe(true);
  });
});
