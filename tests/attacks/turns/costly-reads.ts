import type { Attack } from '../attack.ts';
import { Http1Answers, requestHead } from '../raw/http1.ts';
import { sent } from '../target.ts';

const reads: readonly (readonly [method: string, path: string])[] = [
  ['GET', '/openapi.json'],
  ['GET', '/v2/models/stats'],
  ['HEAD', '/openapi.json'],
  ['OPTIONS', '*'],
  ['OPTIONS', '/v2/models/double/infer'],
  ['GET', '/v1/management/contexts'],
  ['POST', '/v2/repository/index'],
  ['TRACE', '/v2'],
  ['GET', '/v2/models/double/config'],
];
const pipelined = 20;

export const costlyReads: Attack = {
  name: 'costly-reads',
  row: 'The OpenAPI document, statistics, the repository index, metrics and odd methods are asked for in a loop, twenty at a time on each connection.',
  expected: 'harmless',
  run: (target, pressure) =>
    target.again(8 * pressure, async (loop) => {
      const isScrape = loop % 4 === 3;
      const port = isScrape ? target.location.ports.metrics : target.location.ports.http;
      const socket = await target.dial(port, !isScrape && target.location.isTls);
      if (socket === undefined) return target.sleep(100);
      const answers = new Http1Answers(target, socket);
      const [method, path] = isScrape ? ['GET', '/metrics'] : (reads[loop % reads.length] as [string, string]);
      const fields = method === 'POST' ? { 'content-length': 0 } : {};
      const round = requestHead(target, method, path, fields, port).repeat(pipelined);
      while (!target.isOver && (await sent(socket, round))) {
        // An answer to HEAD announces a body that does not come: only time tells that it is over.
        if (method === 'HEAD') await target.sleep(20);
        else for (let at = 0; at < pipelined && (await answers.next()) !== undefined; at++);
      }
      target.hangUp(socket);
    }),
};
