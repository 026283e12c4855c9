/** The calls the benches make, as bytes, made by protobufjs from the published .proto files: not by code under test. */
import { fileURLToPath } from 'node:url';
import protobuf from 'protobufjs';

export const protoFolder = fileURLToPath(new URL('../../proto', import.meta.url));
export const healthProto = fileURLToPath(new URL('../../proto/grpc/health/v1/health.proto', import.meta.url));
export const inferenceProto = fileURLToPath(new URL('../../proto/inference/grpc_service.proto', import.meta.url));
export const chunksProto = fileURLToPath(new URL('../proto/chunks.proto', import.meta.url));

export const checkPath = '/grpc.health.v1.Health/Check';
export const grpcInferPath = '/inference.GRPCInferenceService/ModelInfer';
export const chunksPath = '/millrace.bench.v1.Chunks/Send';

const root = new protobuf.Root();
root.resolvePath = (_origin, target) => (target.startsWith('/') ? target : `${protoFolder}/${target}`);
root.loadSync([healthProto, inferenceProto, chunksProto]);

export const healthCheckRequest = root.lookupType('grpc.health.v1.HealthCheckRequest');
export const healthCheckResponse = root.lookupType('grpc.health.v1.HealthCheckResponse');
export const chunksRequest = root.lookupType('millrace.bench.v1.ChunksRequest');
export const chunk = root.lookupType('millrace.bench.v1.Chunk');
const modelInferRequest = root.lookupType('inference.ModelInferRequest');
const modelInferResponse = root.lookupType('inference.ModelInferResponse');

/** A message with the five bytes gRPC puts before it. */
export function envelopeOf(message: Uint8Array): Buffer {
  const bytes = Buffer.alloc(5 + message.length);
  bytes.writeUInt32BE(message.length, 1);
  bytes.set(message, 5);
  return bytes;
}

/** The messages of a body of whole, uncompressed envelopes. */
export function openEnvelopes(body: Buffer): Buffer[] {
  const messages: Buffer[] = [];
  let at = 0;
  while (at < body.length) {
    const end = at + 5 + (at + 5 <= body.length ? body.readUInt32BE(at + 1) : 0);
    if (at + 5 > body.length || body[at] !== 0 || end > body.length) throw new Error('not a body of whole envelopes');
    messages.push(body.subarray(at + 5, end));
    at = end;
  }
  return messages;
}

export function checkBody(): Buffer {
  return envelopeOf(healthCheckRequest.encode({}).finish());
}

export function chunksBody(count: number, bytes: number, staysOpen = false): Buffer {
  return envelopeOf(chunksRequest.encode({ count, bytes, staysOpen }).finish());
}

/** One INT64 input of one element, as it is written out. */
export function inferInt64Body(model: string, input: string, shape: readonly number[], value: bigint): Buffer {
  const raw = Buffer.alloc(8);
  raw.writeBigInt64LE(value);
  const message = { modelName: model, inputs: [{ name: input, datatype: 'INT64', shape }], rawInputContents: [raw] };
  return envelopeOf(modelInferRequest.encode(message).finish());
}

/** One FP32 input, its data raw. */
export function inferBody(model: string, input: string, shape: readonly number[], data: Float32Array): Buffer {
  const message = {
    modelName: model,
    inputs: [{ name: input, datatype: 'FP32', shape }],
    rawInputContents: [new Uint8Array(data.buffer)],
  };
  return envelopeOf(modelInferRequest.encode(message).finish());
}

/** The answer of a model that gives back its only input as `output`. */
export function echoOf(request: Uint8Array): Uint8Array {
  const { modelName, inputs, rawInputContents } = modelInferRequest.decode(request) as unknown as {
    modelName: string;
    inputs: { datatype: string; shape: unknown[] }[];
    rawInputContents: Uint8Array[];
  };
  const outputs = inputs.map(({ datatype, shape }) => ({ name: 'output', datatype, shape }));
  return modelInferResponse
    .encode({ modelName, modelVersion: '1', outputs, rawOutputContents: rawInputContents })
    .finish();
}

/** An FP32 output of an answer. */
export function outputFrom(message: Uint8Array, name: string): Float32Array {
  const answer = modelInferResponse.decode(message) as unknown as {
    outputs: { name: string }[];
    rawOutputContents: Uint8Array[];
  };
  const raw = answer.rawOutputContents[answer.outputs.findIndex((output) => output.name === name)];
  if (raw === undefined) throw new Error(`the answer has no raw output '${name}'`);
  return new Float32Array(Uint8Array.from(raw).buffer);
}
