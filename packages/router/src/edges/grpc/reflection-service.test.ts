import { fromBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { afterEach, expect, test } from 'vitest';
import { type ServedEdge, serveEdge, streamed } from './testing/served-edge.ts';

let open: ServedEdge | undefined;
afterEach(async () => {
  await open?.server.close();
});

async function serve(): Promise<ServedEdge> {
  open = await serveEdge();
  return open;
}

test.each(['v1', 'v1alpha'])('reflection %s shows every service with all that its file imports', async (version) => {
  const { url } = await serve();
  const ask = async (...requests: readonly object[]): Promise<Record<string, unknown>[]> => {
    const answers: Record<string, unknown>[] = [];
    for await (const answer of streamed(
      url,
      `grpc.reflection.${version}.ServerReflection/ServerReflectionInfo`,
      ...requests,
    )) {
      answers.push(answer as Record<string, unknown>);
    }
    return answers;
  };
  const [list, infer, field, file, nothing, extension, empty] = await ask(
    { listServices: '*' },
    { fileContainingSymbol: 'inference.GRPCInferenceService.ModelInfer' },
    { fileContainingSymbol: 'grpc.health.v1.HealthListResponse.statuses' },
    { fileByFilename: 'inference/model_config.proto' },
    { fileContainingSymbol: 'no.Such' },
    { fileContainingExtension: { containingType: 'inference.ModelConfig', extensionNumber: 5 } },
    {},
  );
  expect(list?.listServicesResponse).toEqual({
    service: [
      'inference.GRPCInferenceService',
      'grpc.health.v1.Health',
      'grpc.reflection.v1.ServerReflection',
      'grpc.reflection.v1alpha.ServerReflection',
    ].map((name) => ({ name })),
  });
  expect(namesOf(infer)).toEqual(['inference/grpc_service.proto', 'inference/model_config.proto']);
  expect(namesOf(field)).toEqual(['grpc/health/v1/health.proto']);
  expect(namesOf(file)).toEqual(['inference/model_config.proto']);
  for (const missing of [nothing, extension]) expect(missing).toMatchObject({ errorResponse: { errorCode: 5 } });
  expect(empty).toMatchObject({ errorResponse: { errorCode: 3 } });
});

function filesOf(answer: Record<string, unknown> = {}) {
  const response = answer.fileDescriptorResponse as { fileDescriptorProto: string[] };
  return response.fileDescriptorProto.map((file) => fromBinary(FileDescriptorProtoSchema, Buffer.from(file, 'base64')));
}

const namesOf = (answer: Record<string, unknown> | undefined): string[] => filesOf(answer).map(({ name }) => name);

test('map entries are named as tools expect them', async () => {
  const { url } = await serve();
  const path = 'grpc.reflection.v1.ServerReflection/ServerReflectionInfo';
  const { value } = await streamed(url, path, { fileContainingSymbol: 'grpc.health.v1.Health' }).next();
  const list = filesOf(value as Record<string, unknown>)[0]?.messageType.find(
    ({ name }) => name === 'HealthListResponse',
  );
  expect(list?.nestedType.map(({ name }) => name)).toEqual(['StatusesEntry']);
});
