/** Converts an inference request of gRPC clients into a request of the data plane. */
import { type Datatype, elementCount, InferenceError, quote, shapeProblem, type Tensor } from '@millrace/protocol';
import type { Catalogue } from '../../catalogue/catalogue.ts';
import { type DataPlane, type InferRequest, noTrail } from '../../data-plane/infer.ts';
import type { InputHead } from '../../data-plane/input-head.ts';
import { checkInputs } from '../check-inputs.ts';
import { datatypeFrom } from '../datatype-from.ts';
import { refusalBefore } from '../model-refusal.ts';
import { tighterMs } from '../request-deadline.ts';
import { doAtOnce, type SliceGenerator, sliceBytes } from '../slices/slice-queue.ts';
import type { InferMessage, InferParameters, InputMessage } from './infer-message.ts';
import { grpcRequestParametersFrom, noGrpcRequestParameters } from './request-parameters.ts';
import { tensorDataFrom } from './tensor-contents.ts';

export interface DecodedGrpcRequest {
  readonly request: InferRequest;
  /** How many classes to name instead of an output's tensor, by output; empty in nearly every request. */
  readonly classes: ReadonlyMap<string, number>;
  /** The caller wants a final response at the end of several answers, also where that has no outputs. */
  readonly wantsEnd: boolean;
}

const noNames: readonly string[] = [];
const noData = new Uint8Array();
const noClasses: ReadonlyMap<string, number> = new Map();

/** Of the call that brings a request. */
export interface CallConditions {
  readonly caller: string;
  /** What the call itself allows. */
  readonly timeoutMs: number | undefined;
  readonly deadlineAfter: DataPlane['deadlineAfter'];
}

/** As `decodeRequest`, but a model that cannot be served is named before anything that is wrong with the request. */
export function decodeKnownRequest(
  message: InferMessage,
  catalogue: Catalogue,
  call: CallConditions,
): DecodedGrpcRequest {
  try {
    return decodeRequest(message, call);
  } catch (error) {
    throw refusalBefore(error, catalogue, message.modelName, message.modelVersion);
  }
}

export function decodeRequest(message: InferMessage, call: CallConditions): DecodedGrpcRequest {
  const { modelName, modelVersion, id } = message;
  const parameters =
    message.parameters.size === 0 ? noGrpcRequestParameters : grpcRequestParametersFrom(message.parameters);
  let outputs = noNames;
  let classes = noClasses;
  if (message.outputs.length > 0) {
    outputs = message.outputs.map(({ name }) => name);
    classes = classesFrom(message);
  }
  return {
    request: {
      target: {
        model: modelName,
        version: modelVersion,
        id,
        parameters: parameters.forModel,
        outputs,
        sequence: parameters.sequence,
      },
      inputs: inputsFrom(message),
      origin: {
        caller: call.caller,
        deadlineAt: call.deadlineAfter(tighterMs(call.timeoutMs, parameters.timeoutMs)),
        queueTimeoutMs: parameters.queueTimeoutMs,
        priority: parameters.priority,
        trail: noTrail,
      },
    },
    classes,
    wantsEnd: parameters.wantsEnd,
  };
}

/** The tensors of a request. Throws for those that cannot be read. */
export function inputsFrom(message: InferMessage): readonly Tensor[] {
  const { inputs, rawInputContents, modelName } = message;
  const isRaw = rawInputContents.length > 0;
  const tensors: Tensor[] = [];
  for (let index = 0; index < inputs.length; index++) {
    const input = inputs[index] as InputMessage;
    const { name, shape } = input;
    if (input.parameters.size > 0) refuseSharedMemory(input.parameters, `input ${quote(name)}`);
    if (isRaw && input.contents !== undefined) {
      throw invalid(
        `contents field must not be specified when using raw_input_contents for ${quote(name)} for model ${quote(modelName)}`,
      );
    }
    const datatype = datatypeFrom(input.datatype, name);
    const problem = shapeProblem(shape);
    if (problem !== undefined) throw invalid(`input ${quote(name)}: ${problem}`);
    tensors.push({ name, datatype, shape, data: dataOf(input, datatype, rawInputContents[index], modelName) });
  }
  if (isRaw && rawInputContents.length !== inputs.length) {
    throw invalid(
      `the request has ${inputs.length} inputs but ${rawInputContents.length} raw_input_contents for model ` +
        `${quote(modelName)}; send one for each input`,
    );
  }
  return tensors;
}

/** Whether contents are too long to be read at once. */
export function hasLongContents({ inputs }: InferMessage): boolean {
  for (let index = 0; index < inputs.length; index++) {
    const { contents } = inputs[index] as InputMessage;
    if (contents !== undefined && contents.length > sliceBytes) return true;
  }
  return false;
}

/** Reads long contents in slices before the request is decoded; the declared inputs are checked first. */
export function* readContents(message: InferMessage, catalogue: Catalogue): SliceGenerator<void> {
  const { modelName: model, modelVersion: version, id, inputs } = message;
  const heads = inputs.map(({ name, datatype, shape }) => ({ name, datatype: datatypeFrom(datatype, name), shape }));
  checkInputs({ model, version, id }, heads, catalogue);
  for (const [index, input] of inputs.entries()) {
    const { name, contents } = input;
    if (contents === undefined || contents.length <= sliceBytes) continue;
    const datatype = (heads[index] as InputHead).datatype;
    input.data = yield* tensorDataFrom(contents, { input: name, model, datatype });
  }
}

function dataOf(input: InputMessage, datatype: Datatype, raw: Uint8Array | undefined, model: string): Uint8Array {
  if (raw !== undefined) return raw;
  if (input.contents === undefined) {
    // A tensor without elements has no data, and clients leave empty messages out.
    if (elementCount(input.shape) === 0) return noData;
    throw invalid(`unable to find data for input tensor ${quote(input.name)} for model ${quote(model)} in request.`);
  }
  return input.data ?? doAtOnce(tensorDataFrom(input.contents, { input: input.name, model, datatype }));
}

function classesFrom({ outputs }: InferMessage): ReadonlyMap<string, number> {
  let classes: Map<string, number> | undefined;
  for (const { name, parameters } of outputs) {
    if (parameters.size === 0) continue;
    refuseSharedMemory(parameters, `output ${quote(name)}`);
    const parameter = parameters.get('classification');
    if (parameter === undefined) continue;
    const count = parameter.kind === 'int64' ? Number(parameter.value) : 0;
    if (!Number.isSafeInteger(count) || count < 1) {
      throw invalid(`output ${quote(name)}: parameter 'classification' must be an int64 of 1 or more`);
    }
    classes ??= new Map();
    classes.set(name, count);
  }
  return classes ?? noClasses;
}

function refuseSharedMemory(parameters: InferParameters, what: string): void {
  if (!parameters.has('shared_memory_region')) return;
  throw new InferenceError(
    'unsupported',
    `Client shared memory is disabled: this server does not support it; send ${what} in the message`,
  );
}

function invalid(message: string): InferenceError {
  return new InferenceError('invalid-request', message);
}
