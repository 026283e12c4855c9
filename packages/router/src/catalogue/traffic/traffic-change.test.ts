import { expect, test } from 'vitest';
import { labelsMax, shadowsMax, splitVersionsMax, trafficAfter, weightMax } from './traffic-change.ts';
import type { TrafficChange, TrafficPolicy } from './traffic-policy.ts';
import { bytesFromTraffic, trafficFromBytes } from './traffic-record.ts';

const present: TrafficPolicy = {
  labels: new Map([
    ['stable', '1'],
    ['gone', '99'],
  ]),
  split: [{ version: '1', weight: 1 }],
  shadows: [{ version: '2', percent: 10 }],
  revision: 4,
};
const versionProblem = (version: string): string | undefined =>
  Number(version) <= 50 ? undefined : 'there is no such version';
const after = (change: TrafficChange) => trafficAfter('mill', present, change, versionProblem);

test('what is absent from a change stays, also references to removed versions', () => {
  expect(after({})).toEqual({ labels: present.labels, split: present.split, shadows: present.shadows });
  const moved = after({ labels: new Map([['stable', '2']]) });
  expect(moved.labels).toEqual(new Map(Object.entries({ stable: '2', gone: '99' })));
  expect(moved.split).toBe(present.split);
});

test('labels are set and removed in one change; an empty split and no shadows remove all', () => {
  const labels = new Map<string, string | undefined>([
    ['canary', '2'],
    ['gone', undefined],
    ['never', undefined],
  ]);
  expect(after({ labels, split: [], shadows: [] })).toEqual({
    labels: new Map(Object.entries({ stable: '1', canary: '2' })),
    split: [],
    shadows: [],
  });
});

const share = (version: string, weight: number) => ({ version, weight });

test.each<[string, TrafficChange, string]>([
  ['a label that is a number', { labels: new Map([['7', '1']]) }, "the label '7' is a number"],
  [
    'a label of a version that does not exist',
    { labels: new Map([['a', '99']]) },
    "label 'a' of 'mill' names version 99",
  ],
  ['a split of a version that does not exist', { split: [share('99', 1)] }, "the split of 'mill' names version 99"],
  ['a weight of 0', { split: [share('1', 0)] }, 'the weight of version 1 is 0'],
  ['a negative weight', { split: [share('1', -1)] }, 'above 0'],
  ['a weight that is not a number', { split: [share('1', Number.NaN)] }, 'above 0'],
  ['an infinite weight', { split: [share('1', Number.POSITIVE_INFINITY)] }, `at most ${weightMax}`],
  ['a version twice in a split', { split: [share('1', 1), share('1', 2)] }, 'version 1 is named twice in the split'],
  ['a shadow of 0 percent', { shadows: [{ version: '1', percent: 0 }] }, 'the percent of version 1 is 0'],
  ['a shadow of more than 100 percent', { shadows: [{ version: '1', percent: 100.5 }] }, 'at most 100'],
  [
    'a shadow of a version that does not exist',
    { shadows: [{ version: '99', percent: 1 }] },
    "a shadow of 'mill' names version 99",
  ],
  [
    'too many labels',
    { labels: new Map(Array.from({ length: labelsMax }, (_, index) => [`label-${index}`, '1'])) },
    `at most ${labelsMax} labels`,
  ],
  [
    'too many versions',
    { split: Array.from({ length: splitVersionsMax + 1 }, (_, index) => share(`${index + 1}`, 1)) },
    `at most ${splitVersionsMax} versions`,
  ],
  [
    'too many shadows',
    { shadows: Array.from({ length: shadowsMax + 1 }, (_, index) => ({ version: `${index + 1}`, percent: 1 })) },
    `at most ${shadowsMax} shadows`,
  ],
])('%s is refused', (_, change, message) => {
  expect(() => after(change)).toThrow(
    expect.objectContaining({ code: 'invalid-request', message: expect.stringContaining(message) }),
  );
});

test('a record survives a round trip, and other bytes are not read', () => {
  expect(trafficFromBytes(bytesFromTraffic(present), 4)).toEqual(present);
  for (const text of [
    '',
    '{',
    '[]',
    '{}',
    '{"labels":{"a":1},"split":[],"shadows":[]}',
    '{"labels":{},"split":[{}]}',
  ]) {
    expect(trafficFromBytes(new TextEncoder().encode(text), 1), text).toBeUndefined();
  }
  expect(trafficFromBytes(Uint8Array.of(0xff, 0xfe), 1)).toBeUndefined();
});
