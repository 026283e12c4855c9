import { ConfigError } from '@millrace/protocol';
import { describe, expect, test } from 'vitest';
import { converseHttp1, get } from '../http1/testing/conversation.ts';
import type { Connection } from '../wire/transport.ts';
import { webSocketLimits } from './config.ts';
import { clientFrame, serverFrames, told } from './testing/frames.ts';
import { requireWebSocket, resolveWebSocketConfig, upgradeToWebSocket } from './upgrade.ts';

const config = resolveWebSocketConfig({ subprotocols: ['v1+json', 'v1+proto'] });

function converse() {
  const chosen: string[] = [];
  let next: Connection | undefined;
  const conversation = converseHttp1(
    requireWebSocket,
    {},
    {
      onUpgrade: (exchange) =>
        upgradeToWebSocket(exchange, config, (connection) => {
          chosen.push(connection.subprotocol);
          return { onMessage: (data) => void connection.sendText(data), onDrain: () => {}, onClose: () => {} };
        }),
      switchTo: (connection) => {
        next = connection;
      },
    },
  );
  return { ...conversation, chosen, next: () => next };
}

/** The example of RFC 6455, 1.3. */
const key = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n';
const version = 'Sec-WebSocket-Version: 13\r\n';
const upgrade = 'Connection: keep-alive, Upgrade\r\nUpgrade: websocket\r\n';
const accepted =
  'HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n';

test('a request that asks for a WebSocket gets one, and frames behind it are read', () => {
  const { receive, said } = converse();
  receive(`${get('/s', upgrade, key, version)}${clientFrame(1, 'early').toString('latin1')}`);
  const [head = '', frames = ''] = said().split(/(?<=\r\n\r\n)/);
  expect(head).toBe(`${accepted}\r\n`);
  expect(serverFrames(Buffer.from(frames, 'latin1')).map(told)).toEqual(['text early']);
});

describe('the subprotocol', () => {
  const cases: readonly [offered: string, chosen: string, field: string][] = [
    ['', 'v1+json', ''],
    ['Sec-WebSocket-Protocol: v1+proto\r\n', 'v1+proto', 'sec-websocket-protocol: v1+proto\r\n'],
    ['Sec-WebSocket-Protocol: other, v1+proto , v1+json\r\n', 'v1+json', 'sec-websocket-protocol: v1+json\r\n'],
    [
      'Sec-WebSocket-Protocol: other\r\nSec-WebSocket-Protocol: v1+proto\r\n',
      'v1+proto',
      'sec-websocket-protocol: v1+proto\r\n',
    ],
  ];
  for (const [offered, chosen, field] of cases) {
    test(`${JSON.stringify(offered)} gives ${chosen}`, () => {
      const conversation = converse();
      conversation.receive(get('/s', upgrade, key, version, offered));
      expect(conversation.chosen).toEqual([chosen]);
      expect(conversation.said()).toBe(`${accepted}${field}\r\n`);
    });
  }
});

describe('is refused with the reason', () => {
  const cases: readonly [what: string, request: string, status: number, text: string][] = [
    ['without a key', get('/s', upgrade, version), 400, 'Sec-WebSocket-Key'],
    ['with two keys', get('/s', upgrade, version, key, key), 400, 'Sec-WebSocket-Key'],
    ['with a short key', get('/s', upgrade, version, 'Sec-WebSocket-Key: abcd\r\n'), 400, 'Sec-WebSocket-Key'],
    ['without a version', get('/s', upgrade, key), 426, 'Sec-WebSocket-Version: 13'],
    [
      'with another version',
      get('/s', upgrade, key, 'Sec-WebSocket-Version: 8\r\n'),
      426,
      'sec-websocket-version: 13\r\n',
    ],
    [
      'with an unknown subprotocol',
      get('/s', upgrade, key, version, 'Sec-WebSocket-Protocol: x\r\n'),
      400,
      'supports v1+json, v1+proto',
    ],
    [
      'with a subprotocol that is no name',
      get('/s', upgrade, key, version, 'Sec-WebSocket-Protocol: a b\r\n'),
      400,
      'Sec-WebSocket-Protocol',
    ],
    [
      'with the same subprotocol twice',
      get('/s', upgrade, key, version, 'Sec-WebSocket-Protocol: a,a\r\n'),
      400,
      'different',
    ],
    ['by POST', get('/s', upgrade, key, version).replace('GET', 'POST'), 405, 'allow: GET'],
    ['without an upgrade', get('/s', key, version), 426, 'upgrade: websocket\r\n'],
    ['for another protocol', get('/s', 'Connection: Upgrade\r\nUpgrade: h2c\r\n'), 426, 'upgrade: websocket\r\n'],
  ];
  for (const [what, request, status, text] of cases) {
    test(what, () => {
      const { receive, said, next } = converse();
      receive(request);
      const answer = said();
      expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
      expect(answer).toContain(text);
      expect(next()).toBeUndefined();
    });
  }
});

test('every limit has a range that is checked, all problems at once', () => {
  const tooLow = Object.fromEntries(Object.entries(webSocketLimits).map(([name, { min }]) => [name, min - 1]));
  let problems: readonly { readonly field?: string }[] = [];
  try {
    resolveWebSocketConfig({ subprotocols: ['x'], ...tooLow });
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    problems = (error as ConfigError).problems;
  }
  expect(problems.map(({ field }) => field)).toEqual(Object.keys(webSocketLimits));
  const { limits } = resolveWebSocketConfig({ subprotocols: ['x'] });
  for (const [name, rule] of Object.entries(webSocketLimits)) expect(limits).toHaveProperty(name, rule.default);
});
