import { create, fromBinary, toJson } from '@bufbuild/protobuf';
import { describe, expect, test } from 'vitest';
import * as v1 from '../../proto/generated/grpc/reflection/v1/reflection_pb.ts';
import { file_inference_grpc_service } from '../../proto/generated/inference/grpc_service_pb.ts';
import { ReflectionAnswers, reflectionAnswerCodec } from './reflection-answers.ts';

const answers = new ReflectionAnswers([file_inference_grpc_service]);
const requestFor = (messageRequest: v1.ServerReflectionRequest['messageRequest']) =>
  create(v1.ServerReflectionRequestSchema, { host: 'h', messageRequest });
const protoOf = (request: v1.ServerReflectionRequest): readonly Uint8Array[] =>
  reflectionAnswerCodec.toProto(answers.answerTo(request)) as readonly Uint8Array[];

describe.each([
  ['the list of services', requestFor({ case: 'listServices', value: '*' })],
  ['a file', requestFor({ case: 'fileByFilename', value: 'inference/grpc_service.proto' })],
  ['the file of a symbol', requestFor({ case: 'fileContainingSymbol', value: 'inference.ModelInferRequest' })],
])('%s', (_, request) => {
  test('is encoded once for all callers', () => {
    const [first, second] = [answers.answerTo(request), answers.answerTo(request)];
    expect(first.finding.proto).toBe(second.finding.proto);
    expect(first.finding.json).toBe(second.finding.json);
  });

  test('is one message together with the repeated request, in both forms', () => {
    const message = fromBinary(v1.ServerReflectionResponseSchema, Buffer.concat(protoOf(request)));
    expect(message.validHost).toBe('h');
    expect(message.originalRequest).toEqual(request);
    const json = reflectionAnswerCodec.toJson?.(answers.answerTo(request)) as Uint8Array;
    expect(JSON.parse(Buffer.from(json).toString())).toEqual(toJson(v1.ServerReflectionResponseSchema, message));
  });
});

test('a file and its symbols share the encoded bytes', () => {
  const [, byName] = protoOf(requestFor({ case: 'fileByFilename', value: 'inference/grpc_service.proto' }));
  const [, bySymbol] = protoOf(requestFor({ case: 'fileContainingSymbol', value: 'inference.ModelInferRequest' }));
  expect(byName).toBeDefined();
  expect(bySymbol).toBe(byName);
});
