/** One call to a running server, and the error messages when it fails. Every answer is validated. */
import { type ConfigProblem, type JsonObject, type JsonValue, parseJson } from '@millrace/protocol';
import { takeSeconds } from '../config/units.ts';
import { CommandFailure } from './command-failure.ts';
import type { FlagValues } from './parse-arguments.ts';
import { socketFetch, socketScheme } from './socket-fetch.ts';

export interface ServerAddress {
  /** Without a slash at the end. */
  readonly url: string;
  readonly fetch: typeof fetch;
  readonly timeoutMs: number;
}

export interface ServerAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: Uint8Array;
}

const defaultUrl = 'http://127.0.0.1:8000';

/** Throws a `CommandFailure` when nothing answers in time; returns every answer, whatever its status. */
export async function callServer(
  address: ServerAddress,
  path: string,
  init: Omit<RequestInit, 'signal'>,
): Promise<ServerAnswer> {
  const { url, timeoutMs } = address;
  const callFetch = address.fetch;
  try {
    const response = await callFetch(url + path, { ...init, signal: AbortSignal.timeout(timeoutMs) });
    const body = new Uint8Array(await response.arrayBuffer());
    return { status: response.status, headers: response.headers, body };
  } catch (error) {
    throw unreachable(url, timeoutMs, error);
  }
}

function unreachable(url: string, timeoutMs: number, error: unknown): CommandFailure {
  if (error instanceof Error && error.name === 'TimeoutError') {
    return new CommandFailure(`no answer from ${url} within ${timeoutMs / 1000} s; wait longer with --timeout`);
  }
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = (cause as { code?: unknown } | undefined)?.code;
  const why = typeof code === 'string' ? code : cause instanceof Error ? cause.message : String(cause);
  return new CommandFailure(
    `nothing answers at ${url} (${why}): start a server with millrace serve, or give its address with --url`,
    { cause: error },
  );
}

export function refusalText(status: number, body: Uint8Array): string {
  try {
    const { error } = objectFrom(body);
    if (typeof error === 'string') return `the server answered ${status}: ${error}`;
  } catch {
    // Some other server, or a proxy: only its status is known.
  }
  return `the server answered ${status}; is it an inference server?`;
}

export function objectFrom(bytes: Uint8Array): JsonObject {
  let value: JsonValue;
  try {
    value = parseJson(bytes);
  } catch (error) {
    throw new CommandFailure('the server answered something that is not JSON; is it an inference server?', {
      cause: error,
    });
  }
  if (isObject(value)) return value;
  throw new CommandFailure('the server answered JSON that is not an object; is it an inference server?');
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function urlFrom(flags: FlagValues, problems: ConfigProblem[]): string {
  return webUrlFrom(flags.takeText('url'), '--url', problems);
}

/** The address of a server, without a slash at the end; `source` says where it was written. */
export function webUrlFrom(given: string | undefined, source: string, problems: ConfigProblem[]): string {
  const written = given ?? defaultUrl;
  const url = URL.canParse(written) ? new URL(written) : undefined;
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    problems.push({ source, message: `must be like ${defaultUrl}, not "${written}"` });
  }
  return written.replace(/\/+$/, '');
}

/** Where a server is managed: an address, or `unix:PATH` for its socket. */
export function managedFrom(
  flags: FlagValues,
  systemFetch: typeof fetch,
  problems: ConfigProblem[],
): Pick<ServerAddress, 'fetch' | 'url'> {
  const written = flags.takeText('url') ?? '';
  if (!written.startsWith(socketScheme)) return { url: urlFrom(flags, problems), fetch: systemFetch };
  const path = written.slice(socketScheme.length);
  if (!path.startsWith('/')) {
    problems.push({ source: '--url', message: `must be like ${socketScheme}/run/millrace.sock, not "${written}"` });
  }
  return { url: written, fetch: socketFetch(path) };
}

export function timeoutMsFrom(flags: FlagValues, defaultSeconds: number, problems: ConfigProblem[]): number {
  const written = flags.takeText('timeout');
  const seconds = written === undefined ? defaultSeconds : takeSeconds(written);
  if (seconds !== undefined && seconds > 0 && seconds <= 86_400) return Math.ceil(seconds * 1000);
  problems.push({ source: '--timeout', message: `must be seconds above 0 and up to 86400, not "${written}"` });
  return 0;
}
