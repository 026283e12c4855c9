/** What a model's first output must be, by ONNX Runtime alone. */
import { InferenceSession, Tensor } from 'onnxruntime-node';

// Read when the first session is made.
process.env.ORT_DISABLE_TELEMETRY = '1';

export interface ExpectedOutput {
  readonly name: string;
  readonly data: Float32Array;
}

export async function expectedOutput(
  modelPath: string,
  input: string,
  shape: readonly number[],
  data: Float32Array,
): Promise<ExpectedOutput> {
  const session = await InferenceSession.create(modelPath);
  const results = await session.run({ [input]: new Tensor('float32', data, shape) });
  const name = session.outputNames[0] as string;
  return { name, data: (results[name] as Tensor).data as Float32Array };
}
