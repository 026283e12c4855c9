import { errorCode, frameFlag, frameType, streamIdMax } from '@millrace/http2';
import { data, type Fields, frame, getFields, headers, literalBlock, postFields, reset } from '@millrace/http2/testing';
import { describe, expect, test } from 'vitest';
import type { WireExchange } from '../wire/wire-exchange.ts';
import { converseHttp2, measure } from './testing/conversation.ts';

describe('limits', () => {
  test('a list over headerListBytesMax is answered with 431, and the next request served', () => {
    const { receive, said } = converseHttp2(measure, { headerListBytesMax: 1024 });
    receive(headers(1, [...getFields, ['x-long', 'v'.repeat(1000)]], true), headers(3, getFields, true));
    expect(said()).toEqual(['1 headers :status=431 end', '3 headers :status=200 x-bytes=0 end']);
  });

  test('more fields than headerFieldsMax are answered with 431', () => {
    const { receive, said } = converseHttp2(measure, { headerFieldsMax: 8 });
    const more = (count: number): Fields => Array.from({ length: count }, (_, at) => [`x-${at}`, ''] as const);
    receive(headers(1, [...getFields, ...more(4)], true), headers(3, [...getFields, ...more(5)], true));
    expect(said()).toEqual(['1 headers :status=200 x-bytes=0 end', '3 headers :status=431 end']);
  });

  test('a block over headBytesMax ends the connection', () => {
    const { receive, said, transport } = converseHttp2(measure, { headBytesMax: 1024 });
    receive(headers(1, [...getFields, ['x-long', 'v'.repeat(2000)]], true));
    expect(said()).toEqual([`goaway last 0 code ${errorCode.enhanceYourCalm} header block too large`]);
    expect(transport.isEnded).toBe(true);
  });

  test('more CONTINUATION frames than continuationFramesMax end the connection', () => {
    const { receive, said } = converseHttp2(measure, { continuationFramesMax: 2 });
    const block = literalBlock(getFields);
    const parts = (count: number, id: number) => [
      frame(frameType.headers, frameFlag.endStream, id, block.subarray(0, 3)),
      ...Array.from({ length: count - 1 }, (_, at) =>
        frame(frameType.continuation, 0, id, block.subarray(3 + at, 4 + at)),
      ),
      frame(frameType.continuation, frameFlag.endHeaders, id, block.subarray(2 + count)),
    ];
    receive(...parts(2, 1));
    expect(said()).toEqual(['1 headers :status=200 x-bytes=0 end']);
    receive(...parts(3, 3));
    expect(said()).toEqual([`goaway last 1 code ${errorCode.enhanceYourCalm} header block too large`]);
  });

  test('a stream over streamsMax is refused, also when the others were cancelled but not finished', () => {
    const exchanges: WireExchange[] = [];
    const { receive, said } = converseHttp2((exchange) => exchanges.push(exchange), { streamsMax: 2 });
    receive(headers(1, getFields, true), headers(3, getFields, true), headers(5, getFields, true));
    expect(said()).toEqual([`5 reset ${errorCode.refusedStream}`]);
    receive(reset(1), headers(7, getFields, true));
    expect(said()).toEqual([`7 reset ${errorCode.refusedStream}`]);
    exchanges[0]?.end();
    receive(headers(9, getFields, true));
    expect(said()).toEqual([]);
    expect(exchanges).toHaveLength(3);
  });

  test('a frame over frameBytesMax ends the connection', () => {
    const { receive, said } = converseHttp2(measure, { frameBytesMax: 20_000 });
    receive(headers(1, postFields, false), data(1, Buffer.alloc(20_000), false));
    expect(said()).toEqual([]);
    receive(data(1, Buffer.alloc(20_001), false));
    expect(said()[0]).toContain(`code ${errorCode.frameSizeError}`);
  });

  test('when stream numbers run out the client gets GOAWAY, and is still answered', () => {
    const { receive, said } = converseHttp2(measure);
    receive(headers(streamIdMax, getFields, true));
    expect(said()).toEqual([
      `${streamIdMax} headers :status=200 x-bytes=0 end`,
      `goaway last ${streamIdMax} code 0 `,
      `0 type ${frameType.ping}`,
    ]);
  });
});
