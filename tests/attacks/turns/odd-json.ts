import type { Attack } from '../attack.ts';
import { doubleModel, textsModel } from '../attack-models.ts';
import { oneAnswer, rawJsonRequest } from '../raw/http1.ts';
import { inferPath } from '../raw/requests.ts';

const large = 10_000_000;
const input = (data: string, datatype = 'FP32', name = 'x', shape = '[1,1]'): string =>
  `{"inputs":[{"name":"${name}","datatype":"${datatype}","shape":${shape},"data":${data}}]}`;

export const oddJson: Attack = {
  name: 'odd-json',
  row: 'JSON nested a million deep, numbers and names of 10 MB, a million empty lists, a million inputs and a shape of a million sizes cost more than their size.',
  expected: 'refused',
  secondsMin: 6,
  run: async (target, pressure) => {
    const requests = [
      input(`${'['.repeat(large / 10)}1${']'.repeat(large / 10)}`),
      input(`${'['.repeat(large)}`),
      input(`[${'9'.repeat(large)}]`),
      input(`[0.${'1'.repeat(large)}]`),
      input('[1]', 'FP32', 'n'.repeat(large)),
      input(`["${'\\u00e9'.repeat(large / 6)}"]`, 'BYTES', 'x', '[1]'),
      input(`[${'[],'.repeat(large / 3)}1]`),
      input('[1]', 'FP32', 'x', `[${'1,'.repeat(large / 2)}1]`),
      `{"inputs":[${'{"name":"x","datatype":"FP32","shape":[0,0],"data":[]},'.repeat(100_000)}${input('[]').slice(11, -2)}]}`,
      `${'{"a":'.repeat(large / 5)}`,
      `${' '.repeat(large)}`,
      `{"id":"${'i'.repeat(large)}","inputs":[]}`,
    ].map((json, index) => rawJsonRequest(target, inferPath(index === 5 ? textsModel : doubleModel), json));
    let next = 0;
    await target.again(2 * pressure, async () => {
      await oneAnswer(target, requests[next++ % requests.length] as Buffer);
    });
  },
};
