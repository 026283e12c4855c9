/** The answers of reflection. Descriptors never change: the answer for each file is encoded once in each form. */
import {
  create,
  createRegistry,
  type DescFile,
  type JsonObject,
  type Registry,
  toBinary,
  toJson,
} from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { type ResponseCodec, statusCodes } from '@millrace/http';
import { quote } from '@millrace/protocol';
import { file_google_rpc_error_details } from '../../proto/generated/google/rpc/error_details_pb.ts';
import * as v1 from '../../proto/generated/grpc/reflection/v1/reflection_pb.ts';
import { file_grpc_reflection_v1alpha_reflection } from '../../proto/generated/grpc/reflection/v1alpha/reflection_pb.ts';

type Request = v1.ServerReflectionRequest;
type Response = v1.ServerReflectionResponse;

const responseSchema = v1.ServerReflectionResponseSchema;

/** The result as a response without other fields; encoded when it is first requested. */
class Finding {
  readonly #response: Response;
  #proto: Uint8Array | undefined = undefined;
  #json: JsonObject | undefined = undefined;

  constructor(messageResponse: Response['messageResponse']) {
    this.#response = create(responseSchema, { messageResponse });
  }

  get proto(): Uint8Array {
    this.#proto ??= toBinary(responseSchema, this.#response);
    return this.#proto;
  }

  get json(): JsonObject {
    this.#json ??= toJson(responseSchema, this.#response) as JsonObject;
    return this.#json;
  }
}

export interface ReflectionAnswer {
  /** The fields of the request that the response repeats. */
  readonly head: Response;
  readonly finding: Finding;
}

/** Two concatenated messages are one message with the fields of both. */
export const reflectionAnswerCodec: ResponseCodec<ReflectionAnswer> = {
  toProto: ({ head, finding }) => [toBinary(responseSchema, head), finding.proto],
  toJson: ({ head, finding }) =>
    Buffer.from(JSON.stringify({ ...(toJson(responseSchema, head) as JsonObject), ...finding.json })),
};

/** What errors carry as details; no method names these messages. */
const detailFiles: readonly DescFile[] = [file_google_rpc_error_details];

export class ReflectionAnswers {
  readonly #registry: Registry;
  readonly #services: Finding;
  readonly #files: ReadonlyMap<string, Finding>;

  /** `files` declare the services that are served beside reflection itself. */
  constructor(files: readonly DescFile[]) {
    const served = [...files, v1.file_grpc_reflection_v1_reflection, file_grpc_reflection_v1alpha_reflection];
    const all = withDependencies([...served, ...detailFiles]);
    this.#registry = createRegistry(...all);
    this.#files = new Map(all.map((file) => [file.proto.name, fileFinding(file)]));
    const service = served.flatMap((file) => file.services.map(({ typeName }) => ({ name: typeName })));
    this.#services = new Finding({
      case: 'listServicesResponse',
      value: create(v1.ListServiceResponseSchema, { service }),
    });
  }

  answerTo(request: Request): ReflectionAnswer {
    const head = create(responseSchema, { validHost: request.host, originalRequest: request });
    return { head, finding: this.#find(request) };
  }

  #find({ messageRequest }: Request): Finding {
    switch (messageRequest.case) {
      case 'listServices':
        return this.#services;
      case 'fileByFilename':
        return this.#files.get(messageRequest.value) ?? notFound(`file ${quote(messageRequest.value)}`);
      case 'fileContainingSymbol': {
        const file = this.#fileOfSymbol(messageRequest.value);
        const found = file === undefined ? undefined : this.#files.get(file.proto.name);
        return found ?? notFound(`symbol ${quote(messageRequest.value)}`);
      }
      case 'allExtensionNumbersOfType': {
        const baseTypeName = messageRequest.value;
        if (this.#registry.getMessage(baseTypeName) === undefined) return notFound(`message ${quote(baseTypeName)}`);
        const value = create(v1.ExtensionNumberResponseSchema, { baseTypeName });
        return new Finding({ case: 'allExtensionNumbersResponse', value });
      }
      case 'fileContainingExtension': {
        const { containingType, extensionNumber } = messageRequest.value;
        return notFound(`extension ${extensionNumber} of ${quote(containingType)}`);
      }
      case undefined:
        return failure(statusCodes.invalid_argument.grpc, 'the request is empty; set one of its fields');
    }
  }

  /** A message, enumeration or service, or a member of one. */
  #fileOfSymbol(symbol: string): DescFile | undefined {
    const found = this.#registry.get(symbol);
    if (found !== undefined) return found.file;
    const end = symbol.lastIndexOf('.');
    const parent = end < 0 ? undefined : this.#registry.get(symbol.slice(0, end));
    const member = symbol.slice(end + 1);
    if (parent?.kind === 'service' && parent.methods.some(({ name }) => name === member)) return parent.file;
    if (parent?.kind === 'message' && parent.members.some(({ name }) => name === member)) return parent.file;
    return undefined;
  }
}

/** A file and everything it imports. */
function fileFinding(file: DescFile): Finding {
  const fileDescriptorProto = withDependencies([file]).map(({ proto }) => toBinary(FileDescriptorProtoSchema, proto));
  return new Finding({
    case: 'fileDescriptorResponse',
    value: create(v1.FileDescriptorResponseSchema, { fileDescriptorProto }),
  });
}

/** The files and everything they import, each once. */
function withDependencies(files: readonly DescFile[]): readonly DescFile[] {
  const found = new Map<string, DescFile>();
  const add = (file: DescFile): void => {
    if (found.has(file.proto.name)) return;
    found.set(file.proto.name, file);
    for (const dependency of file.dependencies) add(dependency);
  };
  for (const file of files) add(file);
  return [...found.values()];
}

function notFound(what: string): Finding {
  return failure(statusCodes.not_found.grpc, `there is no ${what} here`);
}

function failure(errorCode: number, errorMessage: string): Finding {
  return new Finding({ case: 'errorResponse', value: create(v1.ErrorResponseSchema, { errorCode, errorMessage }) });
}
