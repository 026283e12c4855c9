import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Attack } from '../attack.ts';
import { textsModel } from '../attack-models.ts';
import { oneAnswer, rawJsonRequest, requestHead } from '../raw/http1.ts';
import type { Target } from '../target.ts';

const page = 'https://page.example';

/** Whatever a web page can make a browser send to a management call. */
function pageRequests(target: Target): readonly (readonly [what: string, bytes: Buffer])[] {
  const plain = { 'content-type': 'text/plain' };
  const index = '/v2/repository/index';
  const contexts = (fields: Record<string, string>): Buffer =>
    Buffer.from(requestHead(target, 'GET', '/v1/management/contexts', fields));
  const rebound = `page.example:${target.location.ports.http}`;
  // All of them succeed for a caller of this host.
  return [
    ['an index with a foreign Host', rawJsonRequest(target, index, '{}', { host: 'page.example' })],
    ['an index with a name that was rebound to this host', rawJsonRequest(target, index, '{}', { host: rebound })],
    ['contexts with a foreign Host', contexts({ host: rebound })],
    ['metadata with a foreign Host', Buffer.from(requestHead(target, 'GET', '/v2', { host: rebound }))],
    ['an index with a foreign Origin', rawJsonRequest(target, index, '{}', { origin: page })],
    ['an index with a null Origin', rawJsonRequest(target, index, '{}', { origin: 'null', ...plain })],
    [
      'an index by a cross-site fetch',
      rawJsonRequest(target, index, '{}', { 'sec-fetch-site': 'cross-site', ...plain }),
    ],
    ['contexts with a foreign Origin', contexts({ origin: page })],
    [
      'an unload with a foreign Origin',
      rawJsonRequest(target, `/v2/repository/models/${textsModel}/unload`, '{}', { origin: page, ...plain }),
    ],
    [
      'an index over gRPC-Web with a foreign Origin',
      rawJsonRequest(target, '/inference.GRPCInferenceService/RepositoryIndex', Buffer.alloc(5), {
        'content-type': 'application/grpc-web+proto',
        origin: page,
      }),
    ],
  ];
}

export const foreignPages: Attack = {
  name: 'foreign-pages',
  row: 'A web page posts plain text to the load endpoint with a pipeline module as a file override, and so runs code on the host; management calls are accepted with a foreign Host or Origin.',
  expected: 'refused',
  serve: ['--model-control-mode', 'explicit', '--load-model', '*', '--cors-origins', page],
  isAlone: true,
  isFinite: true,
  run: async (target) => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-attack-'));
    const proof = join(folder, 'code-was-run');
    for (const [what, bytes] of pageRequests(target)) {
      const answer = await oneAnswer(target, bytes);
      const isGrpcRefusal = /grpc-status: *[1-9]/i.test(`${answer?.head}\n${answer?.text}`);
      if (answer !== undefined && answer.status < 300 && !isGrpcRefusal) {
        target.fate.harm(`${what} was answered with ${answer.status}`);
      }
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
        rawJsonRequest(
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
