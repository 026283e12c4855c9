/** Handlers with different behaviour, so that a fuzzed connection meets every way an application may act. */
import type { WireExchange, WireHandler } from '@millrace/http';
import type { FuzzRandom } from './random.ts';

export interface Applications {
  readonly handler: WireHandler;
  /** Lets everything that waits go on: late answers, paused bodies. False when nothing did. */
  wake(): boolean;
  /** Exchanges handed out and not ended by their handler yet. */
  readonly open: number;
}

const body = Buffer.alloc(300, 'b');
const large = Buffer.alloc(70_000, 'l');
const fields: [string, string][] = [['content-type', 'application/grpc']];

export function applications(random: FuzzRandom): Applications {
  let waiting: (() => void)[] = [];
  let open = 0;
  const later = (action: () => void) => {
    waiting.push(action);
  };
  const answer = (exchange: WireExchange) => {
    open--;
    const kind = random.below(5);
    if (kind === 0) exchange.answer(200, fields, body, undefined, undefined);
    else if (kind === 1) exchange.answer(200, fields, [body, body], [['grpc-status', '0']], undefined);
    else if (kind === 2) exchange.answer(random.pick([204, 304, 404]), [], undefined, undefined, undefined);
    else if (kind === 3) exchange.answer(200, fields, large, undefined, () => {});
    else {
      exchange.start(200, fields);
      exchange.write(body);
      later(() => {
        exchange.write(large);
        exchange.end(random.oneIn(2) ? [['x-end', 'yes']] : undefined);
      });
    }
  };
  const handler: WireHandler = (exchange) => {
    open++;
    let isOver = false;
    const finish = () => {
      if (isOver) return;
      isOver = true;
      answer(exchange);
    };
    const temper = random.below(6);
    exchange.listener = {
      onData: () => {
        if (temper !== 3) return;
        exchange.pause();
        later(() => exchange.resume());
      },
      onEnd: () => (temper === 4 ? later(finish) : finish()),
      onAbort: () => later(finish),
      onDrain: () => {},
      onRefused: () => {},
    };
    if (temper === 0) finish();
    else if (temper === 1) later(finish);
    else if (temper === 5) {
      open--;
      isOver = true;
      exchange.abort();
    } else exchange.resume();
  };
  return {
    handler,
    wake: () => {
      const woken = waiting;
      waiting = [];
      for (const action of woken) action();
      return woken.length > 0;
    },
    get open() {
      return open;
    },
  };
}
