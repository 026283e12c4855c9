/** The embedding API, in this process. */
import { type Datatype, InferenceError } from '@millrace/protocol';
import type { EmbeddedEngine, InferOptions, InferResult, InputValue } from 'millrace';
import type { FaceOutcome, FaceRequest, InferenceFace } from './inference-face.ts';
import { exactTensor, type TensorValue, valuesIn } from './tensors.ts';

export function openEngineFace(engine: EmbeddedEngine): InferenceFace {
  return {
    call: (request) => {
      const controller = new AbortController();
      const answer = engine.infer(request.model, inputsFrom(request), optionsFrom(request, controller.signal));
      return { outcome: outcomeOf(answer), hangUp: () => controller.abort() };
    },
    callMalformed: () => outcomeOf(engine.infer('arithmetic', { left: { shape: [1, 2] } as unknown as InputValue })),
    callUnread: () => Promise.reject(new Error('an answer of the embedding API is a value, not something to read')),
    close: () => {},
  };
}

function inputsFrom({ inputs }: FaceRequest): Record<string, InputValue> {
  return Object.fromEntries(
    inputs.map((input) => {
      const { name, datatype, shape } = input;
      return [name, { datatype, shape, data: valuesIn(input) }];
    }),
  );
}

function optionsFrom(request: FaceRequest, signal: AbortSignal): InferOptions {
  const { version, id, outputs, timeoutMs, queueTimeoutMs, priority, sequence } = request;
  return {
    signal,
    ...(version === undefined ? {} : { version }),
    ...(id === undefined ? {} : { id }),
    ...(outputs === undefined ? {} : { outputs: outputs.map(({ name }) => name) }),
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(queueTimeoutMs === undefined ? {} : { queueTimeoutMs }),
    ...(priority === undefined ? {} : { priority }),
    ...(sequence === undefined ? {} : { sequence }),
  };
}

async function outcomeOf(answer: Promise<InferResult>): Promise<FaceOutcome> {
  try {
    const { model, version, id, outputs } = await answer;
    return {
      model,
      version,
      id,
      outputs: Object.entries(outputs).map(([name, { datatype, shape, data }]) =>
        exactTensor(name, datatype, shape, valuesFrom(datatype, data)),
      ),
    };
  } catch (error) {
    if (!(error instanceof InferenceError)) throw error;
    return { code: error.code, message: error.message };
  }
}

function valuesFrom(datatype: Datatype, data: ArrayLike<TensorValue>): readonly TensorValue[] {
  const values = Array.from(data);
  return datatype === 'BOOL' ? values.map((value) => value === 1) : values;
}
