import type { Attack } from '../attack.ts';
import { doubleModel } from '../attack-models.ts';
import { oneAnswer, rawJsonRequest } from '../raw/http1.ts';
import { inferPath } from '../raw/requests.ts';

const keys = 700_000;
const input = '{"name":"x","datatype":"FP32","shape":[1,1],"data":[1]}';

export const ignoredKeys: Attack = {
  name: 'ignored-keys',
  row: 'A request of 11 MB consists of keys that are ignored, at the top and in parameters; building an object of them stops the event loop.',
  expected: 'refused',
  run: async (target, pressure) => {
    const many = Array.from({ length: keys }, (_, key) => `"ignored${key}":1`).join(',');
    const requests = [
      `{"inputs":[${input}],${many}}`,
      `{"inputs":[${input}],"parameters":{${many}}}`,
      `{"inputs":[${input.slice(0, -1)},"parameters":{${many}}}]}`,
    ].map((json) => rawJsonRequest(target, inferPath(doubleModel), json));
    await target.again(2 * pressure, async (loop) => {
      await oneAnswer(target, requests[(loop + target.fate.answered) % requests.length] as Buffer);
    });
  },
};
