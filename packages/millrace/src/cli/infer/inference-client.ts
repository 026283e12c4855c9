/** A client of the Open Inference Protocol over HTTP, for any server; every answer is validated. */
import { isDatatype, type JsonValue, parseJson, type TensorSpec } from '@millrace/protocol';
import { CommandFailure } from '../command-failure.ts';
import { callServer, isObject, objectFrom, refusalText, type ServerAddress } from '../server-call.ts';
import type { ModelTensors } from '../types/model-types-text.ts';

export interface ModelMetadata {
  readonly name: string;
  readonly inputs: readonly TensorSpec[];
}

export interface EncodedRequest {
  readonly body: Uint8Array;
  /** How much of the body is JSON, when tensors follow it as bytes. */
  readonly jsonBytes: number | undefined;
}

export interface InferenceAnswerBody {
  readonly body: Uint8Array;
  readonly jsonBytes: number | undefined;
}

const deadlineField = 'millrace-timeout-ms';
const headerLengthField = 'inference-header-content-length';

export class InferenceClient {
  readonly #options: ServerAddress;

  constructor(options: ServerAddress) {
    this.#options = options;
  }

  async metadata(model: string, version: string | undefined): Promise<ModelMetadata> {
    const { body } = await this.#call(modelPath(model, version), {});
    const metadata = objectFrom(body);
    return { name: String(metadata.name ?? model), inputs: tensorSpecsFrom(metadata.inputs) };
  }

  /** Inputs that a request may leave out. Servers without the configuration extension have none. */
  async optionalInputs(model: string, version: string | undefined): Promise<ReadonlySet<string>> {
    const { status, body } = await callServer(this.#options, `${modelPath(model, version)}/config`, {});
    const { input } = status === 200 ? objectFrom(body) : {};
    const entries = Array.isArray(input) ? input.filter(isObject) : [];
    return new Set(entries.filter(({ optional }) => optional === true).map(({ name }) => String(name)));
  }

  /** What a model takes and gives. */
  async tensorsOf(model: string): Promise<ModelTensors> {
    const { body } = await this.#call(modelPath(model, undefined), {});
    const { inputs, outputs } = objectFrom(body);
    return {
      name: model,
      optionalInputs: await this.optionalInputs(model, undefined),
      inputs: tensorSpecsFrom(inputs),
      outputs: tensorSpecsFrom(outputs),
    };
  }

  /** The names of the models that are ready, from the index of the repository. */
  async readyModels(): Promise<readonly string[]> {
    const { body } = await this.#call('/v2/repository/index', { method: 'POST', body: '{"ready":true}' });
    const index = parseJson(body);
    const names = Array.isArray(index) ? index.map((entry) => (isObject(entry) ? entry.name : undefined)) : [undefined];
    if (!names.every((name) => typeof name === 'string')) {
      throw new CommandFailure('the server listed models in a form that this command cannot read');
    }
    return [...new Set(names)];
  }

  /** `deadlineMs`: after which the server cancels the request; undefined: never. */
  infer(
    model: string,
    version: string | undefined,
    request: EncodedRequest,
    deadlineMs: number | undefined,
  ): Promise<InferenceAnswerBody> {
    const isBinary = request.jsonBytes !== undefined;
    const headers = {
      'content-type': isBinary ? 'application/octet-stream' : 'application/json',
      ...(isBinary ? { [headerLengthField]: String(request.jsonBytes) } : {}),
      ...(deadlineMs === undefined ? {} : { [deadlineField]: String(deadlineMs) }),
    };
    return this.#call(`${modelPath(model, version)}/infer`, { method: 'POST', headers, body: request.body });
  }

  async #call(path: string, init: Omit<RequestInit, 'signal'>): Promise<InferenceAnswerBody> {
    const { status, headers, body } = await callServer(this.#options, path, init);
    if (status < 200 || status > 299) throw new CommandFailure(refusalText(status, body));
    const length = headers.get(headerLengthField);
    return { body, jsonBytes: length === null ? undefined : Number(length) };
  }
}

function modelPath(model: string, version: string | undefined): string {
  const path = `/v2/models/${encodeURIComponent(model)}`;
  return version === undefined ? path : `${path}/versions/${encodeURIComponent(version)}`;
}

/** Name, datatype and shape of each entry of a list, as metadata and answers both write them. */
export function tensorSpecsFrom(value: JsonValue | undefined): TensorSpec[] {
  if (!Array.isArray(value)) throw new CommandFailure('the server listed no tensors; is it an inference server?');
  return value.map((entry) => {
    const { name, datatype, shape } = isObject(entry) ? entry : {};
    const isShape = Array.isArray(shape) && shape.every((dimension) => Number.isSafeInteger(dimension));
    if (typeof name !== 'string' || typeof datatype !== 'string' || !isDatatype(datatype) || !isShape) {
      throw new CommandFailure(`the server described a tensor that this command cannot read: ${String(name)}`);
    }
    return { name, datatype, shape: shape as number[] };
  });
}
