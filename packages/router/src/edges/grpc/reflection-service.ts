/** gRPC's server reflection: the descriptors of everything served, for tools that have no files of their own. */
import { create, createRegistry, type DescFile, type Registry, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorProtoSchema } from '@bufbuild/protobuf/wkt';
import { bidi, type RequestStream, type RpcService, type StreamCall, statusCodes } from '@millrace/http';
import { quote } from '@millrace/protocol';
import * as v1 from '../../proto/generated/grpc/reflection/v1/reflection_pb.ts';
import * as v1alpha from '../../proto/generated/grpc/reflection/v1alpha/reflection_pb.ts';
import { codecOf } from './message-codec.ts';

type Request = v1.ServerReflectionRequest;
type Response = v1.ServerReflectionResponse;
type Answer = Response['messageResponse'];

export class ReflectionService {
  readonly #files: ReadonlyMap<string, DescFile>;
  readonly #registry: Registry;
  readonly #serviceNames: readonly string[];
  readonly #calls = new Set<StreamCall<Response>>();

  /** `files` declare the services that are served, `serviceNames` are their names. */
  constructor(files: readonly DescFile[], serviceNames: readonly string[]) {
    const all = withDependencies(files);
    this.#files = new Map(all.map((file) => [file.proto.name, file]));
    this.#registry = createRegistry(...all);
    this.#serviceNames = serviceNames;
  }

  /** The two versions differ in nothing but their name, so one's messages are written as the other's. */
  get services(): readonly RpcService[] {
    const requestCodec = codecOf(v1.ServerReflectionRequestSchema);
    const responseCodec = codecOf(v1.ServerReflectionResponseSchema);
    const method = bidi<Request, Response>({
      name: 'ServerReflectionInfo',
      request: requestCodec,
      response: responseCodec,
      handle: (requests, call) => this.#serve(requests, call),
    });
    return [v1.ServerReflection.typeName, v1alpha.ServerReflection.typeName].map((name) => ({
      name,
      methods: [method],
    }));
  }

  /** Ends every stream: the server goes, and must not wait for tools that keep one open. */
  end(): void {
    for (const call of this.#calls) call.end();
  }

  #serve(requests: RequestStream<Request>, call: StreamCall<Response>): undefined {
    this.#calls.add(call);
    call.whenEnded(() => this.#calls.delete(call));
    call.signal.onCancel(() => call.end());
    requests.listen({
      onMessage: (request) => {
        const response = create(v1.ServerReflectionResponseSchema, {
          validHost: request.host,
          originalRequest: request,
          messageResponse: this.#answer(request),
        });
        if (call.send(response)) return;
        requests.pause();
        call.onRoom = () => requests.resume();
      },
      onEnd: () => call.end(),
    });
    return undefined;
  }

  #answer({ messageRequest }: Request): Answer {
    switch (messageRequest.case) {
      case 'listServices': {
        const service = this.#serviceNames.map((name) => create(v1.ServiceResponseSchema, { name }));
        return { case: 'listServicesResponse', value: create(v1.ListServiceResponseSchema, { service }) };
      }
      case 'fileByFilename':
        return filesAnswer(this.#files.get(messageRequest.value), `file ${quote(messageRequest.value)}`);
      case 'fileContainingSymbol':
        return filesAnswer(this.#fileOfSymbol(messageRequest.value), `symbol ${quote(messageRequest.value)}`);
      case 'allExtensionNumbersOfType': {
        const baseTypeName = messageRequest.value;
        if (this.#registry.getMessage(baseTypeName) === undefined) return notFound(`message ${quote(baseTypeName)}`);
        const value = create(v1.ExtensionNumberResponseSchema, { baseTypeName });
        return { case: 'allExtensionNumbersResponse', value };
      }
      case 'fileContainingExtension': {
        const { containingType, extensionNumber } = messageRequest.value;
        return notFound(`extension ${extensionNumber} of ${quote(containingType)}`);
      }
      case undefined:
        return errorAnswer(statusCodes.invalid_argument.grpc, 'the request asks for nothing; set one of its fields');
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

function filesAnswer(file: DescFile | undefined, what: string): Answer {
  if (file === undefined) return notFound(what);
  const fileDescriptorProto = withDependencies([file]).map(({ proto }) => toBinary(FileDescriptorProtoSchema, proto));
  return {
    case: 'fileDescriptorResponse',
    value: create(v1.FileDescriptorResponseSchema, { fileDescriptorProto }),
  };
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

function notFound(what: string): Answer {
  return errorAnswer(statusCodes.not_found.grpc, `there is no ${what} here`);
}

function errorAnswer(errorCode: number, errorMessage: string): Answer {
  return { case: 'errorResponse', value: create(v1.ErrorResponseSchema, { errorCode, errorMessage }) };
}
