/** Stand-ins for tests of the edge: a data plane that answers with its inputs, and a catalogue of fixed views. */
import { type HttpHandler, type InjectedRequest, type InjectedResponse, inject } from '@millrace/http';
import { type CancelSignal, type ErrorCode, InferenceError } from '@millrace/protocol';
import type { Catalogue } from '../../../catalogue/catalogue.ts';
import type { DataPlane, InferAnswer, InferRequest } from '../../../data-plane/infer.ts';
import type { InferStream, StreamInput, StreamOptions } from '../../../data-plane/streams/infer-stream.ts';
import { StreamSession } from '../../../data-plane/streams/stream-session.ts';
import type { ModelView } from '../../../model/model-view.ts';
import type { OpenInferenceParts } from '../../open-inference.ts';
import { createRestEdge, type RestEdgeOptions } from '../edge.ts';

export class EchoDataPlane implements DataPlane {
  readonly requests: InferRequest[] = [];
  readonly refusals: ErrorCode[] = [];
  answers = 0;
  releases = 0;

  /** As if the clock stood at 0. */
  deadlineAfter(timeoutMs: number | undefined): number {
    return timeoutMs ?? Number.POSITIVE_INFINITY;
  }

  noteRefusal(code: ErrorCode): void {
    this.refusals.push(code);
  }

  openStream<Input extends StreamInput>(options: StreamOptions<Input>): InferStream<Input> {
    return new StreamSession({ ...options, inferMany: (request, signal) => this.infer(request, signal) });
  }

  infer(request: InferRequest, _signal: CancelSignal): Promise<InferAnswer> {
    this.requests.push(request);
    const byName = new Map(request.inputs.map((input) => [input.name, input]));
    const { target } = request;
    const wanted = target.outputs.length === 0 ? [...byName.keys()] : target.outputs;
    const outputs = wanted.map((name) => {
      const output = byName.get(name);
      if (output === undefined) throw new InferenceError('invalid-request', `unexpected inference output '${name}'`);
      return output;
    });
    this.answers += 1;
    return Promise.resolve({
      model: target.model,
      version: target.version === '' ? '1' : target.version,
      id: target.id,
      outputs,
      release: () => {
        this.releases += 1;
      },
    });
  }
}

/** For data planes whose tests open no streams. */
export function noStreams(): never {
  throw new Error('no streams are opened here');
}

export function viewOf(name: string, more: Partial<ModelView> = {}): ModelView {
  const x = { name: 'x', datatype: 'FP32', shape: [-1, 2] } as const;
  return {
    name,
    version: '1',
    platform: 'onnxruntime_onnx',
    inputs: [x],
    outputs: [x],
    isBatched: true,
    rowsMax: 8,
    labels: new Map(),
    config: { name, max_batch_size: 8 },
    ...more,
  };
}

export function catalogueOf(...views: readonly ModelView[]): Catalogue {
  return {
    mustFind: (name, version) => {
      const found = views.find((view) => view.name === name && (version === '' || view.version === version));
      if (found !== undefined) return found;
      const suffix = version === '' ? '' : ` version ${version}`;
      throw new InferenceError('unknown-model', `Request for unknown model: '${name}'${suffix} is not found`);
    },
    readyVersions: (name) => views.filter((view) => view.name === name).map((view) => view.version),
    statuses: () => views.map(({ name, version }) => ({ name, version, state: 'ready' as const, reason: '' })),
  };
}

export interface EchoEdge {
  readonly dataPlane: EchoDataPlane;
  readonly handler: HttpHandler;
  readonly errors: unknown[];
  call(request: InjectedRequest): Promise<InjectedResponse>;
}

/** What no edge can do without, with models that answer with their inputs. */
export function echoParts(): OpenInferenceParts & { readonly dataPlane: EchoDataPlane } {
  return {
    dataPlane: new EchoDataPlane(),
    catalogue: catalogueOf(viewOf('m')),
    health: { isLive: true, isReady: true },
    server: { name: 'millrace', version: '0.0.0' },
  };
}

export function echoEdge(options: Partial<RestEdgeOptions> = {}): EchoEdge {
  const parts = echoParts();
  const { dataPlane } = parts;
  const errors: unknown[] = [];
  const handler = createRestEdge({
    ...parts,
    onError: (error) => errors.push(error),
    ...options,
  });
  return {
    dataPlane,
    handler,
    errors,
    call: (request) => inject(handler, { onError: (error) => errors.push(error), ...request }),
  };
}

/** A request as the binary tensor extension writes it: JSON, then the tensors. */
export function binaryRequest(
  json: unknown,
  ...tensors: readonly Uint8Array[]
): Pick<InjectedRequest, 'body' | 'headers' | 'method' | 'target'> & { readonly body: Uint8Array } {
  const header = Buffer.from(JSON.stringify(json));
  return {
    method: 'POST',
    target: '/v2/models/m/infer',
    headers: [
      ['content-type', 'application/octet-stream'],
      ['inference-header-content-length', String(header.byteLength)],
    ],
    body: Buffer.concat([header, ...tensors]),
  };
}

export function jsonRequest(json: unknown): InjectedRequest {
  return {
    method: 'POST',
    target: '/v2/models/m/infer',
    headers: [['content-type', 'application/json']],
    body: typeof json === 'string' ? json : JSON.stringify(json),
  };
}

export const typedBytes = (typed: { buffer: ArrayBufferLike; byteOffset: number; byteLength: number }): Uint8Array =>
  new Uint8Array(typed.buffer, typed.byteOffset, typed.byteLength);

/** An input as the JSON of a request has it. */
export function input(name: string, datatype: string, shape: readonly number[], rest: object): object {
  return { name, datatype, shape, ...rest };
}

/** What an input says whose data follows the JSON. */
export const binarySize = (size: number): object => ({ parameters: { binary_data_size: size } });
