/** Speaks the Open Inference Protocol over HTTP to whatever server is there; trusts nothing it answers. */
import { isDatatype, type JsonObject, type JsonValue, parseJson, type TensorSpec } from '@millrace/protocol';
import { CommandFailure } from '../command-failure.ts';

export interface ModelMetadata {
  readonly name: string;
  readonly inputs: readonly TensorSpec[];
}

export interface EncodedRequest {
  readonly body: Uint8Array;
  /** How much of the body is JSON, when tensors follow it as bytes. */
  readonly jsonBytes: number | undefined;
}

export interface RawAnswer {
  readonly body: Uint8Array;
  readonly jsonBytes: number | undefined;
}

export interface InferenceClientOptions {
  /** Without a slash at the end. */
  readonly url: string;
  readonly fetch: typeof fetch;
  readonly timeoutMs: number;
}

const headerLengthField = 'inference-header-content-length';

export class InferenceClient {
  readonly #options: InferenceClientOptions;

  constructor(options: InferenceClientOptions) {
    this.#options = options;
  }

  async metadata(model: string, version: string | undefined): Promise<ModelMetadata> {
    const { body } = await this.#call(modelPath(model, version), {});
    const metadata = objectFrom(body);
    return { name: String(metadata.name ?? model), inputs: tensorSpecsFrom(metadata.inputs) };
  }

  infer(model: string, version: string | undefined, request: EncodedRequest): Promise<RawAnswer> {
    const isBinary = request.jsonBytes !== undefined;
    const headers = {
      'content-type': isBinary ? 'application/octet-stream' : 'application/json',
      ...(isBinary ? { [headerLengthField]: String(request.jsonBytes) } : {}),
    };
    return this.#call(`${modelPath(model, version)}/infer`, { method: 'POST', headers, body: request.body });
  }

  async #call(path: string, init: Omit<RequestInit, 'signal'>): Promise<RawAnswer> {
    const { url, timeoutMs } = this.#options;
    const callFetch = this.#options.fetch;
    let response: Response;
    let body: Uint8Array;
    try {
      response = await callFetch(url + path, { ...init, signal: AbortSignal.timeout(timeoutMs) });
      body = new Uint8Array(await response.arrayBuffer());
    } catch (error) {
      throw unreachable(url, timeoutMs, error);
    }
    if (!response.ok) throw new CommandFailure(refusalText(response.status, body));
    const length = response.headers.get(headerLengthField);
    return { body, jsonBytes: length === null ? undefined : Number(length) };
  }
}

function modelPath(model: string, version: string | undefined): string {
  const path = `/v2/models/${encodeURIComponent(model)}`;
  return version === undefined ? path : `${path}/versions/${encodeURIComponent(version)}`;
}

function unreachable(url: string, timeoutMs: number, error: unknown): CommandFailure {
  if (error instanceof Error && error.name === 'TimeoutError') {
    return new CommandFailure(`no answer from ${url} within ${timeoutMs / 1000} s; wait longer with --timeout`);
  }
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  const code = (cause as { code?: unknown } | undefined)?.code;
  const why = typeof code === 'string' ? code : cause instanceof Error ? cause.message : String(cause);
  return new CommandFailure(
    `nothing answers at ${url} (${why}): start a server with millrace serve, or say where it is with --url`,
    { cause: error },
  );
}

function refusalText(status: number, body: Uint8Array): string {
  try {
    const { error } = objectFrom(body);
    if (typeof error === 'string') return `the server answered ${status}: ${error}`;
  } catch {
    // Some other server, or a proxy: its status has to do.
  }
  return `the server answered ${status}; is it an inference server?`;
}

/** Also used for the JSON part of an answer. */
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
  throw new CommandFailure('the server answered JSON that is no object; is it an inference server?');
}

export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Name, datatype and shape of each entry of a list, as metadata and answers both write them. */
export function tensorSpecsFrom(value: JsonValue | undefined): TensorSpec[] {
  if (!Array.isArray(value)) throw new CommandFailure('the server listed no tensors; is it an inference server?');
  return value.map((entry) => {
    const { name, datatype, shape } = isObject(entry) ? entry : {};
    const isShape = Array.isArray(shape) && shape.every((dimension) => Number.isSafeInteger(dimension));
    if (typeof name !== 'string' || typeof datatype !== 'string' || !isDatatype(datatype) || !isShape) {
      throw new CommandFailure(`the server described a tensor that this command does not understand: ${String(name)}`);
    }
    return { name, datatype, shape: shape as number[] };
  });
}
