import type { Attack } from '../attack.ts';
import { doubleModel } from '../attack-models.ts';
import { Http1Answers, rawJsonRequest, requestHead } from '../raw/http1.ts';
import { sent } from '../target.ts';

const pipelined = 50;

export const modelLookups: Attack = {
  name: 'model-lookups',
  row: 'Thousands of unknown models, versions and long paths a second, each name used once, must leave nothing behind.',
  expected: 'refused',
  run: (target, pressure) => {
    let count = 0;
    return target.again(4 * pressure, async () => {
      const socket = await target.dial();
      if (socket === undefined) return target.sleep(100);
      const answers = new Http1Answers(target, socket);
      while (!target.isOver) {
        const round = Array.from({ length: pipelined }, () => {
          const name = `${target.location.seed}${process.pid}n${count++}`;
          if (count % 4 === 0) return Buffer.from(requestHead(target, 'GET', `/v2/models/${name}`));
          if (count % 4 === 1)
            return Buffer.from(requestHead(target, 'GET', `/v2/models/${doubleModel}/versions/${count}`));
          if (count % 4 === 2) return Buffer.from(requestHead(target, 'GET', `/v2/${'p/'.repeat(2000)}${name}`));
          return rawJsonRequest(target, `/v2/models/${name}/infer`, `{"id":"${name}","inputs":[]}`);
        });
        if (!(await sent(socket, Buffer.concat(round)))) break;
        for (let at = 0; at < pipelined && (await answers.next()) !== undefined; at++);
      }
      target.hangUp(socket);
    });
  },
};
