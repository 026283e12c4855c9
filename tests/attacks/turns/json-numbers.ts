import { gzipSync } from 'node:zlib';
import type { Attack } from '../attack.ts';
import { doubleModel } from '../attack-models.ts';
import { oneAnswer, rawJsonRequest } from '../raw/http1.ts';
import { inferPath } from '../raw/requests.ts';

/** As JSON, just below the limit of the JSON part as it was: 64 MiB. */
const numbers = 30_000_000;

export const jsonNumbers: Attack = {
  name: 'json-numbers',
  row: 'A gzip body of 142 KB holds 60 MB of JSON numbers; reading them stops the event loop for seconds.',
  expected: 'refused',
  run: async (target, pressure) => {
    const request = (count: number): Buffer => {
      const data = Buffer.alloc(count * 2 - 1, '1,');
      const json = Buffer.concat([
        Buffer.from(`{"inputs":[{"name":"x","datatype":"FP32","shape":[1,${count}],"data":[`),
        data,
        Buffer.from(']}]}'),
      ]);
      return rawJsonRequest(target, inferPath(doubleModel), gzipSync(json), { 'content-encoding': 'gzip' });
    };
    // One over any limit, and one that is allowed: 15 MB of numbers.
    const requests = [request(numbers), request(7_500_000)];
    await target.again(2 * pressure, async (loop) => {
      await oneAnswer(target, requests[loop % 2] as Buffer);
    });
  },
};
