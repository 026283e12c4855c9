/** Unary calls as REST of the Open Inference Protocol, by `fetch`: tensors are binary, behind the JSON that describes them. */
import { errorFromHttp } from '../../errors/error-from-answer.ts';
import { MillraceError, unreachable, unreadableAnswer } from '../../errors/millrace-error.ts';
import type {
  AttemptContext,
  CallTransport,
  InferCall,
  InferReply,
  ModelDescription,
  ModelListing,
  PendingCall,
} from '../transport.ts';
import { encodeInferBody, inferReplyFrom, jsonLengthField } from './infer-body.ts';

/** Errors of Node that say that no connection came about. */
const unconnectedCodes = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'UND_ERR_CONNECT_TIMEOUT']);

export class FetchCalls implements CallTransport {
  readonly #base: string;
  readonly #fetch: typeof fetch;

  constructor(url: URL, fetchFunction: typeof fetch) {
    this.#base = url.href.replace(/\/$/, '');
    this.#fetch = fetchFunction;
  }

  infer(call: InferCall, context: AttemptContext): PendingCall<InferReply> {
    const { body, jsonBytes } = encodeInferBody(call, context.timeoutMs);
    const headers: [string, string][] = [
      ['content-type', 'application/octet-stream'],
      [jsonLengthField, String(jsonBytes)],
    ];
    const path = `${pathOf(call.model, call.version)}/infer`;
    return this.#begin(path, { method: 'POST', body, headers }, context, async (answer) => {
      return inferReplyFrom(await answer.arrayBuffer(), answer.headers.get(jsonLengthField));
    });
  }

  describeModel(model: string, version: string, context: AttemptContext): PendingCall<ModelDescription> {
    return this.#begin(pathOf(model, version), {}, context, async (answer) => {
      const { name, versions, platform, inputs, outputs } = (await answer.json()) as ModelDescription;
      return { name, versions, platform, inputs, outputs };
    });
  }

  listModels(context: AttemptContext): PendingCall<readonly ModelListing[]> {
    // Without the type a server refuses it from browsers, also from its own pages.
    const headers: [string, string][] = [['content-type', 'application/json']];
    return this.#begin('/v2/repository/index', { method: 'POST', body: '{}', headers }, context, async (answer) => {
      const index = (await answer.json()) as readonly Partial<ModelListing>[];
      return index.map(({ name = '', version = '', state = 'UNKNOWN', reason = '' }) => {
        return { name, version, state, reason };
      });
    });
  }

  isServerReady(context: AttemptContext): PendingCall<boolean> {
    return this.#probe('/v2/health/ready', context);
  }

  isModelReady(model: string, version: string, context: AttemptContext): PendingCall<boolean> {
    return this.#probe(`${pathOf(model, version)}/ready`, context);
  }

  /** Connections belong to the platform. */
  close(): void {}

  #probe(path: string, context: AttemptContext): PendingCall<boolean> {
    return this.#begin(path, {}, context, async (answer) => answer.ok, true);
  }

  #begin<Result>(
    path: string,
    request: { method?: string; body?: BodyInit; headers?: [string, string][] },
    context: AttemptContext,
    read: (answer: Response) => Promise<Result>,
    isProbe = false,
  ): PendingCall<Result> {
    const controller = new AbortController();
    const { method = 'GET', body, headers = [] } = request;
    const run = async (): Promise<Result> => {
      const init: RequestInit = {
        method,
        headers: [...headers, ...context.headers.map(([name, value]): [string, string] => [name, value])],
        signal: controller.signal,
        ...(body === undefined ? {} : { body }),
      };
      let answer: Response;
      try {
        answer = await this.#fetch(`${this.#base}${path}`, init);
      } catch (error) {
        throw unreachableBy(error, this.#base);
      }
      if (!answer.ok && !(isProbe && isNotReady(answer.status))) throw await errorOfResponse(answer);
      try {
        return await read(answer);
      } catch (error) {
        if (error instanceof MillraceError) throw error;
        if (error instanceof SyntaxError) throw unreadableAnswer(error.message, error);
        throw unreachable(`the connection to ${this.#base} was lost while the answer arrived`, true, error);
      }
    };
    return { result: run(), stop: () => controller.abort() };
  }
}

/** What a probe says in words of HTTP: Triton has 400, we have 503, and a model that is not known is 404. */
function isNotReady(status: number): boolean {
  return status === 400 || status === 404 || status === 503;
}

function pathOf(model: string, version: string): string {
  return `/v2/models/${encodeURIComponent(model)}${version === '' ? '' : `/versions/${encodeURIComponent(version)}`}`;
}

export function unreachableBy(error: unknown, base: string): MillraceError {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = (cause as { readonly code?: unknown } | undefined)?.code;
  const wasSent = typeof code !== 'string' || !unconnectedCodes.has(code);
  const why = cause instanceof Error ? cause.message : String(cause);
  return unreachable(`${base} cannot be reached: ${why}${hintFor(base)}`, wasSent, error);
}

/** A browser tells pages of another origin the same of a server that is gone and of one that refuses them. */
function hintFor(base: string): string {
  const { location } = globalThis as { readonly location?: { readonly origin: string } };
  if (location === undefined || new URL(base).origin === location.origin) return '';
  return `; if it is running, it may not let pages of ${location.origin} call this (http.corsOrigins)`;
}

/** The error that an answer other than 2xx stands for. */
export async function errorOfResponse(answer: Response): Promise<MillraceError> {
  const text = await answer.text().catch(() => '');
  const { status, headers } = answer;
  return errorFromHttp(status, headers.get('millrace-error-code'), messageIn(text, status), headers.get('retry-after'));
}

const foreignTextCharactersMax = 2048;

function messageIn(text: string, status: number): string {
  try {
    const { error } = JSON.parse(text) as { readonly error?: unknown };
    if (typeof error === 'string') return error;
  } catch {
    // Not our JSON: a proxy answered, and its own words say most.
  }
  return text === '' ? `the server answered with status ${status}` : text.slice(0, foreignTextCharactersMax);
}
