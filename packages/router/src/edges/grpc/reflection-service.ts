/** gRPC's server reflection: the descriptors of everything served, for tools that have no files of their own. */
import type { DescFile } from '@bufbuild/protobuf';
import { bidi, type RequestStream, type RpcService, type StreamCall } from '@millrace/http';
import * as v1 from '../../proto/generated/grpc/reflection/v1/reflection_pb.ts';
import { ServerReflection as ServerReflectionV1alpha } from '../../proto/generated/grpc/reflection/v1alpha/reflection_pb.ts';
import type { SliceGenerator } from '../slices/slice-queue.ts';
import type { CallTurns } from './call-turns.ts';
import { codecOf } from './message-codec.ts';
import { type ReflectionAnswer, ReflectionAnswers, reflectionAnswerCodec } from './reflection-answers.ts';

type Request = v1.ServerReflectionRequest;

export class ReflectionService {
  readonly #files: readonly DescFile[];
  /** Made for the first request: most servers get none, and every start would wait for it. */
  #answers: ReflectionAnswers | undefined = undefined;
  readonly #turns: CallTurns;
  readonly #calls = new Set<StreamCall<ReflectionAnswer>>();

  /** `files` declare the services that are served beside reflection itself. */
  constructor(files: readonly DescFile[], turns: CallTurns) {
    this.#files = files;
    this.#turns = turns;
  }

  /** The two versions differ only in their name, so both use the same messages. */
  get services(): readonly RpcService[] {
    const method = bidi<Request, ReflectionAnswer>({
      name: 'ServerReflectionInfo',
      request: codecOf(v1.ServerReflectionRequestSchema),
      response: reflectionAnswerCodec,
      handle: (requests, call) => this.#serve(requests, call),
    });
    return [v1.ServerReflection, ServerReflectionV1alpha].map(({ typeName }) => ({
      name: typeName,
      methods: [method],
    }));
  }

  /** Ends every stream, so that a server that stops does not wait for tools that keep one open. */
  end(): void {
    for (const call of this.#calls) call.end();
  }

  #serve(requests: RequestStream<Request>, call: StreamCall<ReflectionAnswer>): undefined {
    this.#calls.add(call);
    call.whenEnded(() => this.#calls.delete(call));
    call.signal.onCancel(() => call.end());
    requests.listen({
      onMessage: (request) => {
        // One request of a stream at a time: one chunk from the socket may hold thousands.
        requests.pause();
        this.#turns.run(call, this.#answer(request)).then(
          (answer) => {
            if (call.send(answer)) requests.resume();
            else call.onRoom = () => requests.resume();
          },
          (error: unknown) => call.fail(error),
        );
      },
      onEnd: () => call.end(),
    });
    return undefined;
  }

  *#answer(request: Request): SliceGenerator<ReflectionAnswer> {
    this.#answers ??= new ReflectionAnswers(this.#files);
    const answer = this.#answers.answerTo(request);
    yield;
    return answer;
  }
}
