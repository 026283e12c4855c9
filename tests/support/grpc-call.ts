/** The gRPC protocol from the caller's side, written for tests: values in, values out, as `infer` has them for REST. */
import type { InferClient } from './callers.ts';
import type { NamedValues } from './golden.ts';
import { bytesOfValues, valuesOfBytes } from './inference-call.ts';

interface GrpcTensor {
  readonly name: string;
  readonly datatype: NamedValues['datatype'];
  /** 64-bit integers, as the library has them. */
  readonly shape?: readonly { toNumber(): number }[];
}

/** Resolves with the outputs, or with what the server said went wrong. */
export function grpcInfer(
  client: InferClient,
  model: string,
  inputs: readonly NamedValues[],
): Promise<readonly NamedValues[] | string> {
  const request = {
    model_name: model,
    inputs: inputs.map(({ name, datatype, shape }) => ({ name, datatype, shape })),
    raw_input_contents: inputs.map(({ datatype, values }) => bytesOfValues(datatype, values)),
  };
  return new Promise((resolve) => {
    client.ModelInfer(request, (error, answer) => {
      if (error !== null || answer === undefined) resolve(error?.message ?? 'no answer');
      else {
        const { outputs } = answer as unknown as { outputs: readonly GrpcTensor[] };
        resolve(
          outputs.map(({ name, datatype, shape = [] }, index) => ({
            name,
            datatype,
            shape: shape.map((size) => size.toNumber()),
            values: valuesOfBytes(datatype, answer.raw_output_contents[index] ?? new Uint8Array()),
          })),
        );
      }
    });
  });
}
