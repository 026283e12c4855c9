/** CORS: lets pages of other origins call, and read what the protocols put into headers. */
import type { HeaderFields, HeaderList } from '../exchange.ts';

export interface CorsOptions {
  /** Origins such as `https://app.example`, or `*` for every page. */
  readonly origins: '*' | readonly string[];
  /** How long a browser may cache a preflight, in seconds. Default 7200, the most that browsers keep. */
  readonly maxAgeSeconds?: number;
}

/** Fields that a browser hides from pages unless they are exposed; they may be trailers too. */
const exposed = ['grpc-status', 'grpc-message', 'grpc-status-details-bin'];
const tokenList = /^[!#$%&'*+\-.^_`|~0-9A-Za-z, ]*$/;

export class Cors {
  readonly #origins: ReadonlySet<string> | undefined;
  readonly #maxAge: string;

  constructor(options: CorsOptions) {
    this.#origins = options.origins === '*' ? undefined : new Set(options.origins);
    this.#maxAge = String(options.maxAgeSeconds ?? 7200);
  }

  /** The fields that let the page read an answer; none for an origin that is not allowed. */
  answerFields(headers: HeaderFields, answer: HeaderList): HeaderList {
    const origin = this.#allowed(headers);
    if (origin === undefined) return [];
    const names = new Set([...exposed, ...answer.map(([name]) => name)]);
    return [
      ['access-control-allow-origin', origin],
      ['access-control-expose-headers', [...names].join(',')],
      ['vary', 'origin'],
    ];
  }

  /** The answer to a preflight. Every requested header field is allowed, because metadata may have any name. */
  preflightFields(headers: HeaderFields, methods: string = 'GET, POST'): HeaderList {
    const vary: HeaderList = [['vary', 'origin,access-control-request-method,access-control-request-headers']];
    const origin = this.#allowed(headers);
    if (origin === undefined) return vary;
    const requested = headers.get('access-control-request-headers') ?? '';
    return [
      ['access-control-allow-origin', origin],
      ['access-control-allow-methods', methods],
      ['access-control-allow-headers', tokenList.test(requested) ? requested : ''],
      ['access-control-max-age', this.#maxAge],
      ...vary,
    ];
  }

  #allowed(headers: HeaderFields): string | undefined {
    const origin = headers.get('origin');
    if (origin === undefined) return undefined;
    if (this.#origins === undefined) return '*';
    return this.#origins.has(origin) ? origin : undefined;
  }
}

export function isPreflight(method: string, headers: HeaderFields): boolean {
  return method === 'OPTIONS' && headers.has('origin') && headers.has('access-control-request-method');
}
