/** The client: one object a program, for as long as it calls. */
import type { Datatype, JsonObject, StreamPayload } from '@millrace/protocol';
import { type CallDescription, CallRunner, mustBeDeadline } from './calls/call-runner.ts';
import { Endpoints } from './calls/endpoints.ts';
import { type HeaderSource, headerSourceFrom, type WrittenHeaders } from './calls/header-source.ts';
import { type ClientClock, platformClock } from './client-clock.ts';
import type { ClientObserver } from './client-observer.ts';
import { MillraceError } from './errors/millrace-error.ts';
import { GeneratedText, type GenerateOptions, generationParameters } from './generated-text.ts';
import type { AnyModels, InputsOf, ModelTypes, OutputsOf } from './model-types.ts';
import { compileServiceConfig, defaultServiceConfig, type ServiceConfig } from './policy/service-config.ts';
import { InferenceStream, type StreamEvents, type StreamPosition } from './session/inference-stream.ts';
import { newStreamId } from './session/stream-id.ts';
import { inputTensorFrom, type ModelInput, needsDescription } from './tensors/input-tensor.ts';
import { OutputTensor } from './tensors/output-tensor.ts';
import type {
  CallParameter,
  InferReply,
  ModelDescription,
  ModelListing,
  TransportFactory,
} from './transports/transport.ts';

export interface ClientOptions {
  /** Servers in the order of preference; with `createClient(url)` the only one. */
  readonly endpoints?: readonly (string | URL)[];
  readonly transport?: TransportFactory;
  readonly serviceConfig?: ServiceConfig;
  /** Sent with every attempt and connection: credentials, trace context. A function is asked each time. */
  readonly headers?: WrittenHeaders | (() => WrittenHeaders | undefined | Promise<WrittenHeaders | undefined>);
  readonly observe?: ClientObserver;
  readonly clock?: ClientClock;
}

export interface ClientCallOptions {
  /** For all attempts together, in milliseconds. */
  readonly deadlineMs?: number;
  readonly signal?: AbortSignal;
}

export interface InferenceOptions extends ClientCallOptions {
  /** Absent: the version that the server chooses. */
  readonly version?: string;
  /** Absent: all outputs. */
  readonly outputs?: readonly string[];
  /** For the model, and for sequences, priorities and timeouts of the server's queue. */
  readonly parameters?: Readonly<Record<string, CallParameter>>;
}

export interface InferenceResult<Outputs = Readonly<Record<string, OutputTensor<Datatype>>>> {
  readonly model: string;
  readonly version: string;
  readonly outputs: Outputs;
}

export interface DurableStreamOptions extends StreamEvents {
  readonly parameters?: JsonObject;
  /** For the whole stream, in milliseconds. */
  readonly deadlineMs?: number;
  /** Cancels the stream. */
  readonly signal?: AbortSignal;
  /** Chosen by the program; absent: 128 random bits. Whoever knows it can resume the stream. */
  readonly streamId?: string;
  /** Goes on after this position instead of beginning a stream. */
  readonly resume?: StreamPosition;
  /** Outputs, and bytes of them, that may be on their way to the program. */
  readonly creditMessages?: number;
  readonly creditBytes?: number;
  /** How long a lost stream is tried to be resumed; the server keeps it for 120 s, unless it is told otherwise. */
  readonly resumeMsMax?: number;
}

const inferService = 'inference.GRPCInferenceService';
const streamDefaults = {
  credit: { messages: 64, bytes: 1024 * 1024 },
  silenceMsMax: 10_000,
  answerMsMax: 10_000,
  openMsMax: 30_000,
  resumeMsMax: 120_000,
  backoffMsInitial: 100,
  backoffMsMax: 5000,
};

/** `createClient` makes one. */
export class Client<Models extends ModelTypes<Models> = AnyModels> {
  readonly #endpoints: Endpoints;
  readonly #runner: CallRunner;
  readonly #clock: ClientClock;
  readonly #headers: HeaderSource | undefined;
  readonly #observe: ClientObserver | undefined;
  /** What models take, asked for once. */
  readonly #descriptions = new Map<string, Promise<ModelDescription>>();

  constructor(urls: readonly (string | URL)[], transport: TransportFactory, options: ClientOptions) {
    if (urls.length === 0) throw new TypeError('a client needs at least one endpoint, such as http://localhost:8000');
    this.#clock = options.clock ?? platformClock;
    this.#headers = headerSourceFrom(options.headers);
    this.#observe = options.observe;
    this.#endpoints = new Endpoints(
      urls.map((url) => transport(endpointUrl(url))),
      this.#clock,
    );
    this.#runner = new CallRunner({
      endpoints: this.#endpoints,
      config: compileServiceConfig(options.serviceConfig ?? defaultServiceConfig),
      clock: this.#clock,
      headers: this.#headers,
      observe: this.#observe,
    });
  }

  /** Runs a model once. Inputs by name: typed arrays, texts, files, or `{shape, data}`. */
  async infer<Name extends keyof Models & string>(
    model: Name,
    inputs: InputsOf<Models[Name]>,
    options: InferenceOptions = {},
  ): Promise<InferenceResult<OutputsOf<Models[Name]>>> {
    const { version = '', outputs = [], parameters = {} } = options;
    mustBeVersion(version);
    const tensors = this.#tensorsFrom(model, version, inputs as Readonly<Record<string, ModelInput>>, options);
    const call = {
      model: model as string,
      version,
      inputs: tensors instanceof Promise ? await tensors : tensors,
      outputs,
      parameters,
    };
    const reply = await this.#run(
      'ModelInfer',
      model,
      options,
      !Object.hasOwn(parameters, 'sequence_id'),
      (transport, context) => transport.infer(call, context),
    );
    return resultFrom(reply) as InferenceResult<OutputsOf<Models[Name]>>;
  }

  /**
   * A durable stream of a model: `send` inputs, iterate over outputs. It outlives connections, and the position it tells
   * outlives the program.
   */
  stream<Name extends keyof Models & string>(
    model: Name,
    options: DurableStreamOptions = {},
  ): InferenceStream<Models[Name]> {
    const { resume, signal, deadlineMs } = options;
    mustBeDeadline(deadlineMs);
    // It may come from a store of the program, which had nothing, or something else.
    if (resume !== undefined && !((resume as StreamPosition | null)?.streamId && resume.output >= 0)) {
      throw new TypeError('resume is not the position of a stream');
    }
    const stream = new InferenceStream<Models[Name]>(
      { endpoints: this.#endpoints, clock: this.#clock, headers: this.#headers, observe: this.#observe },
      {
        ...streamDefaults,
        streamId: resume?.streamId ?? options.streamId ?? newStreamId(),
        clientId: newStreamId(),
        context: model,
        parameters: options.parameters ?? {},
        resumeAfter: resume?.output,
        credit: {
          messages: options.creditMessages ?? streamDefaults.credit.messages,
          bytes: options.creditBytes ?? streamDefaults.credit.bytes,
        },
        resumeMsMax: options.resumeMsMax ?? streamDefaults.resumeMsMax,
        deadlineMs: deadlineMs === undefined ? Number.POSITIVE_INFINITY : this.#clock.nowMs() + deadlineMs,
      },
      (input) => this.#payloadFrom(model, input),
      options,
    );
    if (signal !== undefined) stream.cancelBy(signal);
    return stream;
  }

  /** Text of a generator, piece by piece, over a durable stream. */
  generate<Name extends keyof Models & string>(
    model: Name,
    prompt: string,
    options: GenerateOptions = {},
  ): GeneratedText {
    if (options.resume === undefined && typeof prompt !== 'string') {
      throw new TypeError(`prompt is ${String(prompt)}; it must be a text`);
    }
    const stream = this.stream(model, { ...options, parameters: generationParameters(options) });
    // A resumed stream has its prompt already.
    if (options.resume === undefined) stream.sendLast(prompt).catch(() => {});
    return new GeneratedText(stream as unknown as InferenceStream);
  }

  /** One model, with its name filled in. */
  model<Name extends keyof Models & string>(name: Name): ModelClient<Models, Name> {
    return {
      infer: (inputs, options) => this.infer(name, inputs, options),
      stream: (options) => this.stream(name, options),
      generate: (prompt, options) => this.generate(name, prompt, options),
      describe: (options) => this.describe(name, options),
      ready: (options) => this.isModelReady(name, options),
    };
  }

  /** Every model that the server knows, loaded or not. For pages of the server's own origin: the list belongs to management. */
  async models(options: ClientCallOptions = {}): Promise<readonly ModelListing[]> {
    try {
      return await this.#run('RepositoryIndex', '', options, true, (transport, context) =>
        transport.listModels(context),
      );
    } catch (error) {
      if (error instanceof MillraceError && isOfForeignPage(error)) error.message += foreignListText;
      throw error;
    }
  }

  /** What a model takes and gives. */
  async describe(model: string, { version = '', ...options }: InferenceOptions = {}): Promise<ModelDescription> {
    mustBeVersion(version);
    return this.#run('ModelMetadata', model, options, true, (transport, context) =>
      transport.describeModel(model, version, context),
    );
  }

  /** Whether the server, and every model of it, is ready. */
  ready(options: ClientCallOptions = {}): Promise<boolean> {
    return this.#run('ServerReady', '', options, true, (transport, context) => transport.isServerReady(context));
  }

  async isModelReady(model: string, { version = '', ...options }: InferenceOptions = {}): Promise<boolean> {
    mustBeVersion(version);
    return this.#run('ModelReady', model, options, true, (transport, context) =>
      transport.isModelReady(model, version, context),
    );
  }

  /** Closes connections. Calls under way fail, streams stay on the server and can be resumed. */
  close(): void {
    this.#endpoints.close();
  }

  #run<Result>(
    method: string,
    model: string,
    options: ClientCallOptions,
    isRepeatable: boolean,
    begin: CallDescription<Result>['begin'],
  ): Promise<Result> {
    return this.#runner.run({
      identity: { service: inferService, method, model },
      isRepeatable,
      deadlineMs: options.deadlineMs,
      signal: options.signal,
      begin,
    });
  }

  /** Without a promise where nothing has to be asked or read: most calls are made of typed arrays with their shapes. */
  #tensorsFrom(
    model: string,
    version: string,
    inputs: Readonly<Record<string, ModelInput>> | undefined,
    options: ClientCallOptions,
  ): InferReply['outputs'] | Promise<InferReply['outputs']> {
    // Without inputs the server says which it misses.
    const entries = Object.entries(inputs ?? {});
    if (!entries.some(([, value]) => needsDescription(value))) {
      return entries.map(([name, value]) =>
        inputTensorFrom(model, name, value as Exclude<ModelInput, Blob>, undefined),
      );
    }
    return this.#tensorsAsDescribed(model, version, entries, options);
  }

  async #tensorsAsDescribed(
    model: string,
    version: string,
    entries: readonly (readonly [string, ModelInput])[],
    options: ClientCallOptions,
  ): Promise<InferReply['outputs']> {
    const description = await this.#description(model, version, options);
    return await Promise.all(
      entries.map(async ([name, value]) => {
        const known = description.inputs.find((input) => input.name === name);
        if (known === undefined) {
          const names = description.inputs.map((input) => JSON.stringify(input.name)).join(', ');
          throw new TypeError(`${model} has no input ${JSON.stringify(name)}; it takes ${names}`);
        }
        const read = value instanceof Blob ? [new Uint8Array(await value.arrayBuffer())] : value;
        return inputTensorFrom(model, name, read, known);
      }),
    );
  }

  #description(model: string, version: string, options: ClientCallOptions): Promise<ModelDescription> {
    const key = `${model}:${version}`;
    const known = this.#descriptions.get(key);
    if (known !== undefined) return known;
    const asked = this.describe(model, { version, ...options });
    this.#descriptions.set(key, asked);
    // A failure is not remembered.
    asked.catch(() => this.#descriptions.delete(key));
    return asked;
  }

  #payloadFrom(model: string, input: unknown): StreamPayload | Promise<StreamPayload> {
    if (typeof input === 'string') return { kind: 'text', text: input };
    if (input instanceof Uint8Array) return { kind: 'bytes', bytes: input };
    if (input instanceof Blob) {
      return input.arrayBuffer().then((buffer) => ({ kind: 'bytes', bytes: new Uint8Array(buffer) }));
    }
    if (typeof input !== 'object' || input === null || Array.isArray(input) || ArrayBuffer.isView(input)) {
      throw new TypeError('an input of a stream is a text, bytes, a Blob or an object of inputs by name');
    }
    const tensors = this.#tensorsFrom(modelIn(model), '', input as Readonly<Record<string, ModelInput>>, {});
    if (tensors instanceof Promise) return tensors.then((list) => ({ kind: 'tensors', tensors: list }));
    // On the wire it could not be told from the end of the inputs, which has no answer.
    if (tensors.length === 0) throw new TypeError('an input of a stream has no tensor');
    return { kind: 'tensors', tensors };
  }
}

export interface ModelClient<Models extends ModelTypes<Models>, Name extends keyof Models & string> {
  infer(inputs: InputsOf<Models[Name]>, options?: InferenceOptions): Promise<InferenceResult<OutputsOf<Models[Name]>>>;
  stream(options?: DurableStreamOptions): InferenceStream<Models[Name]>;
  generate(prompt: string, options?: GenerateOptions): GeneratedText;
  describe(options?: InferenceOptions): Promise<ModelDescription>;
  ready(options?: InferenceOptions): Promise<boolean>;
}

/** A context may name a version or a label behind the model. */
function modelIn(context: string): string {
  return context.replace(/[:@].*$/, '');
}

/** Programs without types write numbers, which protobuf would not take for a text. */
function mustBeVersion(version: unknown): void {
  if (typeof version !== 'string') throw new TypeError(`version is ${String(version)}; it must be a text such as "2"`);
}

function resultFrom({ model, version, outputs }: InferReply): InferenceResult {
  const byName: Record<string, OutputTensor> = {};
  for (const output of outputs) byName[output.name] = new OutputTensor(output);
  return { model, version, outputs: byName };
}

function endpointUrl(written: string | URL): URL {
  const url = typeof written === 'string' ? takeUrl(written) : written;
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw new TypeError(`the endpoint ${String(written)} is not a URL such as http://localhost:8000`);
  }
  return url;
}

/** A page of another origin is not told why it was refused. */
function isOfForeignPage({ code, endpoint }: MillraceError): boolean {
  const { location } = globalThis as { readonly location?: { readonly origin: string } };
  return code === 'unreachable' && location !== undefined && takeUrl(endpoint ?? '')?.origin !== location.origin;
}

const foreignListText =
  '; the list of models is management, which http.corsOrigins (--cors-origins) opens to no page of another origin:' +
  ' name the models in the page, or load it from the origin of the server';

function takeUrl(written: string): URL | undefined {
  try {
    return new URL(written);
  } catch {
    return undefined;
  }
}
