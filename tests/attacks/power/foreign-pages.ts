import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Attack } from '../attack.ts';
import { jsonRequest, oneAnswer, requestHead } from '../raw/http1.ts';
import type { Target } from '../target.ts';

const page = 'https://page.example';

/** Whatever a web page can make a browser send to a management call. */
function pageRequests(target: Target): readonly (readonly [what: string, bytes: Buffer])[] {
  const own = `${target.host}:${target.place.ports.http}`;
  const unload = '/v2/repository/models/none/unload';
  const plain = { 'content-type': 'text/plain' };
  return [
    ['a foreign Host', jsonRequest(target, '/v2/repository/index', '{}', { host: 'page.example:80' })],
    ['a rebound Host', jsonRequest(target, unload, '{}', { host: `page.example:${target.place.ports.http}` })],
    [
      'a foreign Host of a read',
      Buffer.from(requestHead(target, 'GET', '/v1/management/contexts', { host: 'page.example' })),
    ],
    ['a foreign Origin', jsonRequest(target, '/v2/repository/index', '{}', { origin: page })],
    ['a null Origin', jsonRequest(target, unload, '{}', { origin: 'null', ...plain })],
    ['a cross-site fetch', jsonRequest(target, unload, '{}', { 'sec-fetch-site': 'cross-site', ...plain })],
    ['a foreign Origin of plain text', jsonRequest(target, unload, '{}', { origin: page, ...plain, host: own })],
    [
      'a foreign Host of inference',
      jsonRequest(target, '/v2/models/double/infer', '{"inputs":[]}', { host: 'page.example' }),
    ],
  ];
}

export const foreignPages: Attack = {
  name: 'foreign-pages',
  row: 'A web page posts plain text to the load endpoint with a pipeline module as a file override, and so runs code on the host; management calls are accepted with a foreign Host or Origin.',
  expected: 'refused',
  serve: ['--model-control-mode', 'explicit', '--load-model', '*', '--cors-origins', page],
  isAlone: true,
  secondsMin: 6,
  run: async (target) => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-attack-'));
    const proof = join(folder, 'code-was-run');
    for (const [what, bytes] of pageRequests(target)) {
      const answer = await oneAnswer(target, bytes);
      const isRefused = answer === undefined || [400, 403, 415, 421].includes(answer.status);
      if (!isRefused) target.fate.harm(`${what} was answered with ${answer.status}`);
    }
    const module = `import { writeFileSync } from 'node:fs'; writeFileSync(${JSON.stringify(proof)}, 'x'); export default {};`;
    const config = JSON.stringify({ backend: 'pipeline', max_batch_size: 0 });
    const body = JSON.stringify({
      parameters: { config, 'file:1/pipeline.js': Buffer.from(module).toString('base64') },
    });
    const senders: Readonly<Record<string, Record<string, string>>> = {
      'a page': { 'content-type': 'text/plain', origin: page, 'sec-fetch-site': 'cross-site' },
      'a page with a name of its own for this host': { 'content-type': 'text/plain', host: 'page.example' },
      'any local caller': {},
    };
    for (const [who, fields] of Object.entries(senders)) {
      const answer = await oneAnswer(
        target,
        jsonRequest(
          target,
          `/v2/repository/models/page${fields.host ?? fields.origin ?? ''}x/load`.replaceAll(/[^\w/]/g, ''),
          body,
          fields,
        ),
      );
      if (answer === undefined || answer.status < 300) target.fate.harm(`${who} could load a pipeline by an override`);
      if (existsSync(proof)) target.fate.harm(`${who} ran code on the host by a load`);
      rmSync(proof, { force: true });
    }
    // The page's origin may call inference; management is not inference.
    for (const path of ['/v2/repository/index', '/v1/management/models', '/millrace.v1.Management/Contexts']) {
      const fields = {
        origin: page,
        'access-control-request-method': 'POST',
        'access-control-request-headers': 'content-type',
      };
      const answer = await oneAnswer(target, requestHead(target, 'OPTIONS', path, fields));
      if (/\r\naccess-control-allow-origin:/i.test(answer?.head ?? ''))
        target.fate.harm(`CORS opens ${path} to a page`);
    }
    rmSync(folder, { recursive: true, force: true });
  },
};
