/** The answer to a repeated head that needs no handler: it depends on the state of the server alone. */
import type { StandingResponse } from '../exchange.ts';
import type { Http1Exchange } from './exchange.ts';
import type { Http1Head } from './request-head.ts';
import type { ResponseHeads } from './response-head.ts';

export class StandingAnswer {
  readonly head: Http1Head;
  readonly #again: () => StandingResponse;

  private constructor(head: Http1Head, again: () => StandingResponse) {
    this.head = head;
    this.#again = again;
  }

  /** Undefined: the handler has to be called for such a request. */
  static of({ again, head }: Http1Exchange): StandingAnswer | undefined {
    if (again === undefined || head.method !== 'GET' || head.version !== '1.1' || !head.isKept) return undefined;
    // `again` was declared for the request that was answered, not for others that a body would make of it.
    if (head.lengthBytes !== 0 || head.isUpgrade) return undefined;
    return new StandingAnswer(head, again);
  }

  /** The whole answer, valid until the next call of the heads. Undefined: the handler has to be called. */
  takeBytes(heads: ResponseHeads, date: string): Buffer | undefined {
    try {
      const { status, headers } = this.#again();
      // Those without a length are framed by the exchange.
      if (status < 200 || status === 204 || status === 304) return undefined;
      return heads.lendBytes(status, headers, 'length', 0, '', date);
    } catch {
      // It fails in the handler as well, which reports it.
      return undefined;
    }
  }
}
