/** Triton's model repository extension over gRPC. */
import { create } from '@bufbuild/protobuf';
import { type RpcMethod, unary } from '@millrace/http';
import { InferenceError, quote } from '@millrace/protocol';
import type { LoadOverrides, Management } from '../../management/management.ts';
import {
  type ModelRepositoryParameter,
  RepositoryIndexRequestSchema,
  RepositoryIndexResponseSchema,
  RepositoryModelLoadRequestSchema,
  RepositoryModelLoadResponseSchema,
  RepositoryModelUnloadRequestSchema,
  RepositoryModelUnloadResponseSchema,
} from '../../proto/generated/inference/grpc_service_pb.ts';
import { loadOverridesFrom } from '../repository/load-overrides.ts';
import { unloadIfKnown } from '../repository/unload-if-known.ts';
import { loadCodecOf } from './load-codec.ts';
import { codecOf } from './message-codec.ts';

type Parameters = Readonly<Record<string, ModelRepositoryParameter>>;

export function repositoryMethods(management: Management): readonly RpcMethod[] {
  return [
    unary({
      name: 'RepositoryIndex',
      isIdempotent: true,
      request: codecOf(RepositoryIndexRequestSchema),
      response: codecOf(RepositoryIndexResponseSchema),
      handle: async ({ repositoryName, ready }) => {
        refuseRepositoryName(repositoryName);
        const entries = await management.index();
        const models = entries.filter(({ state }) => !ready || state === 'READY');
        return create(RepositoryIndexResponseSchema, {
          models: models.map(({ name, version = '', state = '', reason = '' }) => ({ name, version, state, reason })),
        });
      },
    }),
    unary({
      name: 'RepositoryModelLoad',
      request: loadCodecOf(RepositoryModelLoadRequestSchema),
      response: codecOf(RepositoryModelLoadResponseSchema),
      handle: async ({ repositoryName, modelName, parameters }) => {
        refuseRepositoryName(repositoryName);
        await management.load(modelName, takeOverrides(parameters));
        return create(RepositoryModelLoadResponseSchema);
      },
    }),
    unary({
      name: 'RepositoryModelUnload',
      request: codecOf(RepositoryModelUnloadRequestSchema),
      response: codecOf(RepositoryModelUnloadResponseSchema),
      handle: async ({ repositoryName, modelName, parameters }) => {
        refuseRepositoryName(repositoryName);
        await unloadIfKnown(management, modelName, takeWithDependents(parameters));
        return create(RepositoryModelUnloadResponseSchema);
      },
    }),
  ];
}

function refuseRepositoryName(name: string): void {
  if (name === '') return;
  throw new InferenceError('unsupported', "'repository_name' specification is not supported");
}

/** The kind of each parameter is part of the protocol: a file is bytes, never text. */
function takeOverrides(parameters: Parameters): LoadOverrides | undefined {
  let config: string | undefined;
  const files = new Map<string, Uint8Array>();
  for (const [name, { parameterChoice }] of Object.entries(parameters)) {
    if (name === 'config') {
      if (parameterChoice.case !== 'stringParam') throw wrongKind('load', name, 'string_param');
      config = parameterChoice.value;
    } else if (name.startsWith('file:')) {
      if (parameterChoice.case !== 'bytesParam') throw wrongKind('load', name, 'bytes_param');
      files.set(name.slice('file:'.length), parameterChoice.value);
    } else {
      throw invalid(`unrecognized load parameter ${quote(name)}. There are config and file:PATH`);
    }
  }
  return loadOverridesFrom(config, files);
}

function takeWithDependents(parameters: Parameters): boolean {
  let isWithDependents = false;
  for (const [name, { parameterChoice }] of Object.entries(parameters)) {
    if (name !== 'unload_dependents') {
      throw invalid(`unrecognized unload parameter ${quote(name)}. There is unload_dependents`);
    }
    if (parameterChoice.case !== 'boolParam') throw wrongKind('unload', name, 'bool_param');
    isWithDependents = parameterChoice.value;
  }
  return isWithDependents;
}

function wrongKind(call: 'load' | 'unload', name: string, expected: string): InferenceError {
  return invalid(`invalid value type for ${call} parameter ${quote(name)}, expected ${expected}.`);
}

function invalid(message: string): InferenceError {
  return new InferenceError('invalid-request', message);
}
