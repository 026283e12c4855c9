/** `Stream` and `Generate` of millrace.v1.InferenceService, by grpc-js with messages read and written by protobufjs. */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import * as grpc from '@grpc/grpc-js';
import type {
  ErrorCode,
  InputFrame,
  OpenFrame,
  OutputFrame,
  StreamClientFrame,
  StreamCredit,
  StreamPayload,
  StreamServerFrame,
  Tensor,
} from '@millrace/protocol';
import { repositoryRoot } from '../../support/repository-root.ts';
import type { DialectLink, DialectListener, StreamDialect } from './dialect.ts';

interface ServiceDefinition {
  readonly Stream: grpc.MethodDefinition<object, WireFrame>;
  readonly Generate: grpc.MethodDefinition<object, WireFrame>;
}

interface WireTensor extends Omit<Tensor, 'data'> {
  readonly raw: Buffer;
}

/** As proto-loader gives it: one key. */
interface WireFrame {
  readonly opened?: Omit<StreamServerFrame & { kind: 'opened' }, 'kind'>;
  readonly accepted?: Omit<StreamServerFrame & { kind: 'accepted' }, 'kind'>;
  readonly output?: {
    readonly sequence: number;
    readonly inputSequence: number;
    readonly tensors: readonly WireTensor[];
    readonly endOfOutput: boolean;
  };
  readonly draining?: { readonly message: string };
  readonly ended?: Omit<StreamServerFrame & { kind: 'ended' }, 'kind' | 'code'> & { readonly code: string };
}

const loader = createRequire(import.meta.url)('@grpc/proto-loader') as {
  loadSync(file: string, options: object): Readonly<Record<string, ServiceDefinition>>;
};
const service = loader.loadSync(join(repositoryRoot, 'proto/millrace/v1/inference.proto'), {
  includeDirs: [join(repositoryRoot, 'proto')],
  longs: Number,
  defaults: true,
  oneofs: false,
  arrays: true,
})['millrace.v1.InferenceService'] as ServiceDefinition;

export const grpcStream: StreamDialect = {
  name: 'grpc Stream',
  hasOneInput: false,
  connect(address, open, listener) {
    const client = clientFor(address);
    const { path, requestSerialize, responseDeserialize } = service.Stream;
    const call = client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize);
    const link = linkOn(client, call, listener, (frame) => void call.write(wireFrame(frame)));
    link.send(open);
    return link;
  },
};

export const grpcGenerate: StreamDialect = {
  name: 'grpc Generate',
  hasOneInput: true,
  connect(address, open, listener) {
    const client = clientFor(address);
    const { path, requestSerialize, responseDeserialize } = service.Generate;
    let link: DialectLink | undefined;
    let isClosed = false;
    // The call begins with the input.
    return {
      send: (frame) => {
        if (frame.kind !== 'input' || link !== undefined || isClosed) return;
        const request = { open: wireOpen(open), input: wireInput(frame) };
        const call = client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, request);
        link = linkOn(client, call, listener, () => {});
      },
      close: () => {
        isClosed = true;
        if (link === undefined) client.close();
        else link.close();
      },
    };
  },
};

function clientFor(address: string): grpc.Client {
  return new grpc.Client(address, grpc.credentials.createInsecure(), {
    // Clients of one address share a connection unless told otherwise; when to connect again is decided by the run.
    'grpc.use_local_subchannel_pool': 1,
    'grpc.enable_retries': 0,
  });
}

function linkOn(
  client: grpc.Client,
  call: grpc.ClientReadableStream<WireFrame>,
  listener: DialectListener,
  send: (frame: StreamClientFrame) => void,
): DialectLink {
  let isOver = false;
  const over = (code: string, message: string): void => {
    if (isOver) return;
    isOver = true;
    client.close();
    listener.onClosed(code, message);
  };
  call.on('data', (frame: WireFrame) => {
    if (!isOver) listener.onFrame(serverFrame(frame));
  });
  call.on('error', () => {});
  call.on('status', ({ code, details, metadata }: grpc.StatusObject) => over(codeFrom(metadata), `${code} ${details}`));
  return {
    send: (frame) => {
      if (!isOver) send(frame);
    },
    close: () => {
      isOver = true;
      call.cancel();
      client.close();
    },
  };
}

/** Of google.rpc.ErrorInfo in the details of the status: its reason stands before its domain. Empty: the server said none. */
function codeFrom(metadata: grpc.Metadata): string {
  const [details] = metadata.get('grpc-status-details-bin');
  const [before = ''] = details?.toString('latin1').split('\u0012\bmillrace') ?? [];
  return (/[A-Z_]+$/.exec(before)?.[0] ?? '').toLowerCase().replaceAll('_', '-');
}

function wireFrame(frame: StreamClientFrame): object {
  switch (frame.kind) {
    case 'open':
      return { open: wireOpen(frame) };
    case 'input':
      return { input: wireInput(frame) };
    case 'acknowledge':
      return { acknowledge: { output: frame.output, outputCredit: frame.outputCredit } };
    case 'cancel':
      return { cancel: { reason: frame.reason } };
  }
}

function wireOpen({ streamId, mode, context, resumeAfter, outputCredit }: OpenFrame): object {
  return { streamId, mode, context, resumeAfter, outputCredit };
}

function wireInput({ sequence, payload, endOfInput }: InputFrame): object {
  if (payload.kind !== 'tensors') return { sequence, endOfInput };
  const tensors = payload.tensors.map(({ name, datatype, shape, data }) => ({ name, datatype, shape, raw: data }));
  return { sequence, tensors, endOfInput };
}

function serverFrame(frame: WireFrame): StreamServerFrame {
  const { opened, accepted, output, draining, ended } = frame;
  if (opened != null) return { kind: 'opened', ...opened };
  if (accepted != null)
    return { kind: 'accepted', input: accepted.input, inputCredit: creditFrom(accepted.inputCredit) };
  if (output != null) return outputFrame(output);
  if (draining != null) return { kind: 'draining', message: draining.message };
  if (ended == null) throw new Error(`a frame of no known kind: ${JSON.stringify(frame)}`);
  const { outcome, code, message, outputs } = ended;
  return { kind: 'ended', outcome, message, outputs, ...(code === '' ? {} : { code: code as ErrorCode }) };
}

function creditFrom(credit: StreamCredit | null | undefined): StreamCredit | undefined {
  return credit ?? undefined;
}

function outputFrame({ sequence, inputSequence, tensors, endOfOutput }: NonNullable<WireFrame['output']>): OutputFrame {
  const payload: StreamPayload =
    tensors.length === 0
      ? { kind: 'none' }
      : {
          kind: 'tensors',
          tensors: tensors.map(({ name, datatype, shape, raw }) => ({ name, datatype, shape, data: raw })),
        };
  return { kind: 'output', sequence, inputSequence, payload, endOfOutput };
}
