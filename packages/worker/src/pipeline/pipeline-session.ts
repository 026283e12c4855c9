import { type BatchTensor, InferenceError, type LoadSpec, type Tensor, type TensorSpec } from '@millrace/protocol';
import type {
  OutputMemory,
  PulledRun,
  RunCalls,
  RunRequest,
  RunResult,
  Session,
  SteppedRun,
  SteppedRunRequest,
} from '../engine.ts';
import { decodeImage } from './decode-image.ts';
import { inferBy } from './infer-by.ts';
import type { PipelineContext, PipelineDefinition, PipelineTensor } from './pipeline-api.ts';
import { pipelineTensorFrom, tensorFromGiven } from './pipeline-values.ts';
import { failureFromUserError, stackTextOf } from './user-error.ts';

/** A loaded pipeline; `begin` is for decoupled ones. Its inputs and answers are copied, because user code may keep references. */
export class PipelineSession implements Session {
  readonly #pipeline: PipelineDefinition;
  readonly #spec: LoadSpec;

  constructor(pipeline: PipelineDefinition, spec: LoadSpec) {
    this.#pipeline = pipeline;
    this.#spec = spec;
  }

  async run({ inputs, outputs, memory, calls }: RunRequest): Promise<RunResult> {
    const wanted = this.#specsOf(outputs);
    let given: readonly Tensor[];
    try {
      const answer: unknown = await this.#start(inputs, wanted, calls);
      if (isAsyncIterable(answer)) {
        throw new TypeError('run returned several answers; set decoupled: true in the module to send each of them');
      }
      given = tensorsFrom(answer, wanted);
    } catch (error) {
      throw this.#failureFrom(error, calls);
    }
    return laidOut(given, outputs, copied(given, memory));
  }

  begin({ inputs, outputs, calls }: SteppedRunRequest): SteppedRun {
    const wanted = this.#specsOf(outputs);
    let answers: AsyncIterator<unknown> | undefined;
    const first = async (): Promise<unknown> => {
      answers = answersOf(await this.#start(inputs, wanted, calls));
      return answers.next();
    };
    const takeTensors = (given: unknown): readonly Tensor[] | undefined => {
      try {
        const { done, value } = given as IteratorResult<unknown>;
        return done === true ? undefined : tensorsFrom(value, wanted);
      } catch (error) {
        throw this.#failureFrom(error, calls);
      }
    };
    const pulled: PulledRun = {
      next: () => (answers === undefined ? first() : answers.next()),
      layOut: (given, memory) => {
        const tensors = takeTensors(given);
        return tensors && laidOut(tensors, outputs, memory.give(datasOf(tensors)));
      },
      failureFrom: (error) => this.#failureFrom(error, calls),
    };
    return {
      pulled,
      step: async (memory) => {
        let given: unknown;
        try {
          given = await pulled.next();
        } catch (error) {
          throw pulled.failureFrom(error);
        }
        const tensors = takeTensors(given);
        return tensors && laidOut(tensors, outputs, copied(tensors, memory));
      },
      // Errors of its `finally` blocks are ignored: nobody waits for the run any more.
      end: () => void answers?.return?.().catch(() => {}),
    };
  }

  #specsOf(outputs: readonly number[]): readonly TensorSpec[] {
    return outputs.map((index) => this.#spec.outputs[index] as TensorSpec);
  }

  #start(inputs: readonly BatchTensor[], wanted: readonly TensorSpec[], calls: RunCalls | undefined): unknown {
    const names = new WeakMap<Uint8Array, string>();
    return this.#pipeline.run(
      { inputs: this.#inputsFrom(inputs, names), outputs: wanted.map(({ name }) => name) },
      this.#contextOf(calls, names),
    );
  }

  #failureFrom(error: unknown, calls: RunCalls | undefined): InferenceError {
    if (calls?.signal.reason !== undefined) return new InferenceError('cancelled', 'nobody waits for the answer');
    const failure = failureFromUserError(error, this.#spec.path);
    // The caller gets the message and the line; the router logs this, where the pipeline's author can read the stack.
    if (failure.code === 'inference-failed') {
      process.stderr.write(`a run failed: ${stackTextOf(error, failure.message)}\n`);
    }
    return failure;
  }

  async unload(): Promise<void> {}

  #inputsFrom(inputs: readonly BatchTensor[], names: WeakMap<Uint8Array, string>): Record<string, PipelineTensor> {
    const given: Record<string, PipelineTensor> = Object.create(null);
    for (const { index, shape, data } of inputs) {
      const { name, datatype } = this.#spec.inputs[index] as TensorSpec;
      // Not `slice`: a Buffer's gives a view.
      const tensor = pipelineTensorFrom({ datatype, shape, data: new Uint8Array(data) });
      given[name] = tensor;
      if (tensor.datatype !== 'BYTES') continue;
      for (const [position, element] of (tensor.data as readonly Uint8Array[]).entries()) {
        names.set(element, tensor.data.length === 1 ? `input '${name}'` : `element ${position} of input '${name}'`);
      }
    }
    return given;
  }

  #contextOf(calls: RunCalls | undefined, names: WeakMap<Uint8Array, string>): PipelineContext {
    const { name, version } = this.#spec;
    let controller: AbortController | undefined;
    return {
      model: name,
      version,
      /** Created on first access: it costs microseconds. */
      get signal() {
        if (controller === undefined) {
          const made = new AbortController();
          controller = made;
          calls?.signal.onCancel(() => made.abort(new InferenceError('cancelled', 'nobody waits for the answer')));
        }
        return controller.signal;
      },
      images: { decode: (bytes, options = {}) => decodeImage(bytes, options, names.get(bytes) ?? 'the picture') },
      infer: (model, inputs, options = {}) => {
        const answer = inferBy(calls, model, inputs, options);
        // A call whose promise the pipeline does not await may fail without an unhandled rejection.
        answer.catch(() => {});
        return answer;
      },
    };
  }
}

function isAsyncIterable(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === 'object' && value !== null && Symbol.asyncIterator in value;
}

/** The answers of a decoupled pipeline; where `run` is no generator, its one answer. */
function answersOf(given: unknown): AsyncIterator<unknown> {
  if (isAsyncIterable(given)) return given[Symbol.asyncIterator]();
  return (async function* () {
    yield given;
  })();
}

function tensorsFrom(answer: unknown, wanted: readonly TensorSpec[]): readonly Tensor[] {
  if (typeof answer !== 'object' || answer === null) {
    throw new TypeError(
      `run returned ${String(answer)}; return an object with ${wanted.map(({ name }) => name).join(', ')}`,
    );
  }
  const tensors: Tensor[] = [];
  for (let index = 0; index < wanted.length; index++) {
    const spec = wanted[index] as TensorSpec;
    tensors.push(tensorFromGiven('output', spec.name, (answer as Record<string, unknown>)[spec.name], spec));
  }
  return tensors;
}

function datasOf(given: readonly Tensor[]): readonly Uint8Array[] {
  const datas: Uint8Array[] = [];
  for (let part = 0; part < given.length; part++) datas.push((given[part] as Tensor).data);
  return datas;
}

/** For answers that are not sent in the same turn: code of the pipeline may run before, and change them. */
function copied(given: readonly Tensor[], memory: OutputMemory): readonly Uint8Array[] {
  const parts = memory.layOut(given.map(({ data }) => data.length));
  for (let part = 0; part < given.length; part++) memory.write(part, (given[part] as Tensor).data);
  return parts;
}

/** `parts`: the memory of each. */
function laidOut(given: readonly Tensor[], outputs: readonly number[], parts: readonly Uint8Array[]): RunResult {
  const tensors: BatchTensor[] = [];
  for (let part = 0; part < given.length; part++) {
    const { shape } = given[part] as Tensor;
    tensors.push({ index: outputs[part] as number, shape, data: parts[part] as Uint8Array });
  }
  return { outputs: tensors };
}
