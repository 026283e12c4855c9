import type { Attack } from '../attack.ts';
import { growModel } from '../attack-models.ts';
import { oneAnswer, rawJsonRequest } from '../raw/http1.ts';
import { inferPath } from '../raw/requests.ts';

export const largeJsonAnswers: Attack = {
  name: 'large-json-answers',
  row: 'Small requests ask for answers of 8 million numbers as JSON, also compressed; writing them must not hold the event loop.',
  expected: 'harmless',
  run: (target, pressure) => {
    const inputs = [{ name: 'count', datatype: 'INT64', shape: [1], data: [8_000_000] }];
    const json = JSON.stringify({ inputs });
    return target.again(2 * pressure, async (loop) => {
      const fields: Record<string, string> = loop % 2 === 0 ? {} : { 'accept-encoding': 'gzip' };
      await oneAnswer(target, rawJsonRequest(target, inferPath(growModel), json, fields));
    });
  },
};
