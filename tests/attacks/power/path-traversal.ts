import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Attack } from '../attack.ts';
import { oneAnswer, rawJsonRequest } from '../raw/http1.ts';

const names = [
  '..',
  '%2e%2e',
  '..%2f..%2fetc',
  '%2fetc%2fpasswd',
  'double%00',
  'double%2f..%2fdouble',
  '.',
  '%5c..%5c',
  'x'.repeat(300),
];
const files = [
  '../escaped',
  '1/../../escaped',
  '/tmp/escaped',
  '1/../../../escaped',
  '..\\escaped',
  '1/\0',
  '1/./../../escaped',
];

export const pathTraversal: Attack = {
  name: 'path-traversal',
  row: 'Model names and files of load overrides lead out of the repository.',
  expected: 'refused',
  serve: ['--model-control-mode', 'explicit', '--load-model', '*'],
  run: async (target, pressure) => {
    const escaped = join(tmpdir(), 'escaped');
    await target.again(pressure, async () => {
      for (const name of names) {
        const answer = await oneAnswer(target, rawJsonRequest(target, `/v2/repository/models/${name}/load`, '{}'));
        if (answer !== undefined && answer.status < 300) target.fate.harm(`a model by the name of ${name} was loaded`);
      }
      for (const file of files) {
        const parameters = {
          config: '{"backend":"onnxruntime"}',
          [`file:${file}`]: Buffer.from('x').toString('base64'),
        };
        const answer = await oneAnswer(
          target,
          rawJsonRequest(target, '/v2/repository/models/overridden/load', JSON.stringify({ parameters })),
        );
        if (answer !== undefined && answer.status < 300) target.fate.harm(`an override of ${file} was accepted`);
        if (existsSync(escaped)) target.fate.harm(`an override of ${file} was written outside`);
      }
      await target.sleep(100);
    });
  },
};
