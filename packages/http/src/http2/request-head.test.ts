import { errorCode } from '@millrace/http2';
import { data, type Fields, getFields, headers, postFields } from '@millrace/http2/testing';
import { describe, expect, test } from 'vitest';
import { converseHttp2, measure } from './testing/conversation.ts';

describe('malformed requests are stream errors', () => {
  const cases: readonly (readonly [string, Fields])[] = [
    ['no method', getFields.slice(1)],
    ['no scheme', getFields.filter(([name]) => name !== ':scheme')],
    ['no path', getFields.filter(([name]) => name !== ':path')],
    ['an empty path', getFields.map(([name, value]) => [name, name === ':path' ? '' : value])],
    ['a path without a slash', getFields.map(([name, value]) => [name, name === ':path' ? 'a' : value])],
    ['a space in the path', getFields.map(([name, value]) => [name, name === ':path' ? '/a b' : value])],
    ['a fragment in the path', getFields.map(([name, value]) => [name, name === ':path' ? '/a#b' : value])],
    ['a byte above 127 in the path', getFields.map(([name, value]) => [name, name === ':path' ? '/\xe9' : value])],
    ['a method with a space', getFields.map(([name, value]) => [name, name === ':method' ? 'GET /' : value])],
    ['user information', getFields.map(([name, value]) => [name, name === ':authority' ? 'a@b' : value])],
    ['an authority with a path', getFields.map(([name, value]) => [name, name === ':authority' ? 'a/b' : value])],
    ['two methods', [[':method', 'GET'], ...getFields]],
    ['an unknown pseudo-header', [...getFields, [':unknown', 'x']]],
    ['a response pseudo-header', [...getFields, [':status', '200']]],
    ['a pseudo-header after a field', [['x-a', 'b'], ...getFields]],
    ['an upper-case name', [...getFields, ['X-A', 'b']]],
    ['an empty name', [...getFields, ['', 'b']]],
    ['a space in a name', [...getFields, ['x a', 'b']]],
    ['a connection field', [...getFields, ['connection', 'close']]],
    ['a transfer coding', [...getFields, ['transfer-encoding', 'chunked']]],
    ['an upgrade', [...getFields, ['upgrade', 'h2c']]],
    ['te other than trailers', [...getFields, ['te', 'gzip']]],
    ['a line feed in a value', [...getFields, ['x-a', 'b\nc']]],
    ['a NUL in a value', [...getFields, ['x-a', 'b\0c']]],
    ['white space before a value', [...getFields, ['x-a', ' b']]],
    ['white space behind a value', [...getFields, ['x-a', 'b ']]],
    ['a length of letters', [...getFields, ['content-length', 'abc']]],
    ['two lengths that differ', [...getFields, ['content-length', '1'], ['content-length', '2']]],
    ['a length without a body', [...getFields, ['content-length', '5']]],
    ['a host that contradicts the authority', [...getFields, ['host', 'other']]],
    ['a tunnel with a path', [[':method', 'CONNECT'], ...getFields.slice(1)]],
  ];
  for (const [name, fields] of cases) {
    test(name, () => {
      let handled = 0;
      const { receive, said } = converseHttp2((exchange) => {
        handled++;
        exchange.answer(204, [], undefined, undefined, undefined);
      });
      receive(headers(1, fields, true), headers(3, getFields, true));
      expect(said()).toEqual([`1 reset ${errorCode.protocolError}`, '3 headers :status=204 end']);
      expect(handled).toBe(1);
    });
  }

  test('a body longer or shorter than declared', () => {
    const { receive, said } = converseHttp2(measure);
    const declared: Fields = [...postFields, ['content-length', '5']];
    receive(headers(1, declared, false), data(1, 'too long', false));
    receive(headers(3, declared, false), data(3, 'ab', true));
    receive(headers(5, declared, false), data(5, 'abc', false), headers(5, [['x-t', '']], true));
    receive(headers(7, declared, false), data(7, 'abc', false), data(7, 'de', true));
    expect(said()).toEqual([
      `1 reset ${errorCode.protocolError}`,
      `3 reset ${errorCode.protocolError}`,
      `5 reset ${errorCode.protocolError}`,
      '7 headers :status=200 x-bytes=5 end',
    ]);
  });

  test('trailers with a pseudo-header, or without an end', () => {
    const { receive, said } = converseHttp2(measure);
    receive(headers(1, postFields, false), headers(1, [[':path', '/']], true));
    receive(headers(3, postFields, false), headers(3, [['x-a', 'b']], false));
    expect(said()).toEqual([`1 reset ${errorCode.protocolError}`, `3 reset ${errorCode.protocolError}`]);
  });
});
