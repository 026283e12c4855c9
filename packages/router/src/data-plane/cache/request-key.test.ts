import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { ParameterValue } from '../infer.ts';
import { servedModel } from '../testing/models.ts';
import { inferRequest, type RequestText } from '../testing/requests.ts';
import { ValidInferRequest } from '../valid-request.ts';
import { requestKeyFrom } from './request-key.ts';

const model = servedModel(
  [
    { name: 'a', datatype: 'UINT8', shape: [-1, -1, -1] },
    { name: 'b', datatype: 'UINT8', shape: [-1, -1], isOptional: true },
  ],
  [
    { name: 'x', datatype: 'UINT8', shape: [-1, -1] },
    { name: 'y', datatype: 'UINT8', shape: [-1, -1] },
  ],
);

interface Given {
  readonly a?: readonly number[];
  readonly aShape?: readonly number[];
  readonly b?: readonly number[] | undefined;
  readonly outputs?: readonly string[];
  readonly parameters?: readonly (readonly [string, ParameterValue])[];
  readonly rest?: Partial<RequestText>;
}

function request(given: Given): ValidInferRequest {
  const { a = [1, 2, 3, 4], aShape = [1, 1, a.length], b, outputs = [], parameters = [], rest } = given;
  const inputs = [{ name: 'a', datatype: 'UINT8' as const, shape: aShape, data: Uint8Array.from(a) }];
  if (b !== undefined) {
    inputs.push({ name: 'b', datatype: 'UINT8', shape: [1, b.length], data: Uint8Array.from(b) });
  }
  return ValidInferRequest.from(
    inferRequest({
      parameters: new Map(parameters),
      inputs,
      outputs,
      ...rest,
    }),
    model,
  );
}

const key = (given: Given, revision = 1, isShared = false): string =>
  requestKeyFrom(request(given), revision, isShared);

test('everything that can change the answer changes the key', () => {
  const keys = [
    key({}),
    key({}, 2),
    key({ a: [1, 2, 3, 5] }),
    key({ aShape: [1, 2, 2] }),
    key({ aShape: [1, 4, 1] }),
    key({ b: [] }),
    key({ a: [1, 2, 3], b: [4] }),
    key({ outputs: ['x'] }),
    key({ outputs: ['y'] }),
    key({ outputs: ['y', 'x'] }),
    key({ parameters: [['p', 1]] }),
    key({ parameters: [['p', 1n]] }),
    key({ parameters: [['p', '1']] }),
    key({ parameters: [['p', true]] }),
    key({ parameters: [['p', 'true']] }),
    key({ parameters: [['p', 0]] }),
    key({ parameters: [['p', -0]] }),
    key({ rest: { caller: 'someone' } }),
  ];
  expect(new Set(keys).size).toBe(keys.length);
});

test('what cannot change the answer does not change the key', () => {
  expect(key({ rest: { id: '7', deadlineAt: 5, priority: 2 } })).toBe(key({}));
  const parameters = [
    ['p', 1],
    ['q', 'two'],
  ] as const;
  expect(key({ parameters: [...parameters].reverse() })).toBe(key({ parameters }));
  expect(key({ rest: { caller: 'someone' } }, 1, true)).toBe(key({ rest: { caller: 'another' } }, 1, true));
});

test('bytes moved from one input to the next, or from head to inputs, change the key', () => {
  const bytes = fc.array(fc.nat(255), { minLength: 2, maxLength: 24 });
  fc.assert(
    fc.property(bytes, fc.nat(), fc.nat(), (all, first, second) => {
      const cuts = [first % all.length, second % all.length];
      const [one, other] = cuts.map((cut) => key({ a: all.slice(0, cut), b: all.slice(cut) }));
      expect(one === other).toBe(cuts[0] === cuts[1]);
    }),
    { seed: 38 },
  );
});
