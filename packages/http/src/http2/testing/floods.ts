/** The floods a client may try over HTTP/2, for the tests that see them cut off and the bench that watches other clients meanwhile. */
import { frameFlag, frameType } from '@millrace/http2';
import {
  data,
  frame,
  getFields,
  headers,
  literalBlock,
  ping,
  postFields,
  reset,
  settings,
  windowUpdate,
} from '@millrace/http2/testing';

/** What an attack sends round after round, and the reason it is cut off for. */
export interface Flood {
  readonly name: string;
  readonly reason: string;
  readonly next: (round: number) => Buffer;
}

export const repeatedFrames = (count: number, make: (at: number) => Buffer): Buffer =>
  Buffer.concat(Array.from({ length: count }, (_, at) => make(at)));
/** The id of the next stream when each round opens so many. */
export const streamAt = (round: number, at: number, perRound: number): number => (round * perRound + at) * 2 + 1;

const table: readonly (readonly [name: string, reason: string, next: (round: number) => Buffer])[] = [
  [
    'rapid reset (CVE-2023-44487)',
    'too_many_resets',
    (round) =>
      repeatedFrames(50, (at) => {
        const id = streamAt(round, at, 50);
        return Buffer.concat([headers(id, getFields, true), reset(id)]);
      }),
  ],
  [
    'streams made to be reset by a zero window increment (CVE-2025-8671)',
    'too_many_resets',
    (round) =>
      repeatedFrames(50, (at) => {
        const id = streamAt(round, at, 50);
        return Buffer.concat([headers(id, getFields, true), windowUpdate(id, 0)]);
      }),
  ],
  [
    'streams made to be reset by a window overflow (CVE-2025-8671)',
    'too_many_resets',
    (round) =>
      repeatedFrames(50, (at) => {
        const id = streamAt(round, at, 50);
        return Buffer.concat([headers(id, getFields, true), windowUpdate(id, 0x7fffffff)]);
      }),
  ],
  [
    'streams made to be reset by DATA after their end (CVE-2025-8671)',
    'too_many_resets',
    (round) =>
      repeatedFrames(50, (at) => {
        const id = streamAt(round, at, 50);
        return Buffer.concat([headers(id, getFields, true), data(id, 'x', false)]);
      }),
  ],
  [
    'streams made to be reset by HEADERS after their end (CVE-2025-8671)',
    'too_many_resets',
    (round) =>
      repeatedFrames(50, (at) => {
        const id = streamAt(round, at, 50);
        return Buffer.concat([headers(id, getFields, true), headers(id, [], true)]);
      }),
  ],
  [
    'streams made to be reset by a PRIORITY of wrong size (CVE-2025-8671)',
    'too_many_resets',
    (round) =>
      repeatedFrames(50, (at) => {
        const id = streamAt(round, at, 50);
        return Buffer.concat([headers(id, getFields, true), frame(frameType.priority, 0, id, Buffer.alloc(4))]);
      }),
  ],
  [
    'malformed requests, each reset (CVE-2019-9514)',
    'too_many_resets',
    (round) => repeatedFrames(50, (at) => headers(streamAt(round, at, 50), [[':method', 'GET']], true)),
  ],
  [
    'CONTINUATION flood (CVE-2024-27316)',
    'header block too large',
    (round) =>
      round === 0
        ? frame(frameType.headers, 0, 1, literalBlock(getFields))
        : frame(frameType.continuation, 0, 1, literalBlock([['x-flood', 'f'.repeat(1000)]])),
  ],
  [
    'CONTINUATION flood of empty frames',
    'header block too large',
    (round) =>
      round === 0
        ? frame(frameType.headers, 0, 1, literalBlock(getFields))
        : repeatedFrames(100, () => frame(frameType.continuation, 0, 1)),
  ],
  [
    'HPACK bomb',
    'header list too large',
    () => frame(frameType.headers, frameFlag.endHeaders | frameFlag.endStream, 1, bomb()),
  ],
  ['SETTINGS flood (CVE-2019-9515)', 'too_many_control_frames', () => repeatedFrames(500, () => settings())],
  ['PING flood (CVE-2019-9512)', 'too_many_pings', () => repeatedFrames(500, () => ping())],
  [
    'PRIORITY flood (CVE-2019-9513)',
    'too_many_control_frames',
    () => repeatedFrames(500, (at) => frame(frameType.priority, 0, at * 2 + 1, Buffer.of(0, 0, 0, 0, 1))),
  ],
  [
    'empty DATA flood (CVE-2019-9518)',
    'too_many_control_frames',
    (round) =>
      Buffer.concat([
        round === 0 ? headers(1, postFields, false) : Buffer.alloc(0),
        repeatedFrames(500, () => data(1, '', false)),
      ]),
  ],
  [
    'padding flood on a stream that was reset',
    'too_many_control_frames',
    (round) =>
      Buffer.concat([
        round === 0 ? Buffer.concat([headers(1, postFields, false), windowUpdate(1, 0)]) : Buffer.alloc(0),
        repeatedFrames(500, () => frame(frameType.data, frameFlag.padded, 1, Buffer.of(0))),
      ]),
  ],
  ['window update flood', 'too_many_control_frames', () => repeatedFrames(500, () => windowUpdate(0, 1))],
  ['unknown frame flood', 'too_many_control_frames', () => repeatedFrames(500, () => frame(77, 0, 0, Buffer.alloc(4)))],
  [
    'reset flood on closed streams',
    'too_many_control_frames',
    (round) =>
      Buffer.concat([round === 0 ? headers(1, getFields, true) : Buffer.alloc(0), repeatedFrames(500, () => reset(1))]),
  ],
];

export const floods: readonly Flood[] = table.map(([name, reason, next]) => ({ name, reason, next }));

/** One field of nearly a whole table, then a reference to it for every byte of the block. */
function bomb(): Buffer {
  const value = 'b'.repeat(4000);
  const length = 4000 - 127;
  const field = Buffer.concat([
    Buffer.of(0x40, 1, 0x61, 0x7f, (length & 127) | 128, length >> 7),
    Buffer.from(value, 'latin1'),
  ]);
  return Buffer.concat([literalBlock(getFields), field, Buffer.alloc(8000, 0xbe)]);
}
