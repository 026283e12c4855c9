/** `Stream`, `Generate` and `Collect` of millrace.v1.InferenceService, by grpc-js. */
import * as grpc from '@grpc/grpc-js';
import type { StreamClientFrame, StreamServerFrame } from '@millrace/protocol';
import type { DialectLink, DialectListener, StreamDialect } from './dialect.ts';
import { collectedFrames, protobufCodec } from './frame-codec.ts';
import { codeFromDetails } from './status-details.ts';

const service = '/millrace.v1.InferenceService';
const asIs = (bytes: Buffer): Buffer => bytes;

export const grpcStream: StreamDialect = {
  name: 'grpc Stream',
  hasOneInput: false,
  connect(address, open, listener) {
    const client = clientFor(address);
    const call = client.makeBidiStreamRequest(`${service}/Stream`, asIs, protobufCodec.decode);
    const link = linkOn(client, call, listener, (frame) => void call.write(protobufCodec.encode(frame)));
    link.send(open);
    return link;
  },
};

export const grpcGenerate: StreamDialect = {
  name: 'grpc Generate',
  hasOneInput: true,
  connect(address, open, listener) {
    const client = clientFor(address);
    let link: DialectLink | undefined;
    let isClosed = false;
    // The call begins with the input.
    return {
      send: (frame) => {
        if (frame.kind !== 'input' || link !== undefined || isClosed) return;
        const request = protobufCodec.encodeGenerate(open, frame);
        const call = client.makeServerStreamRequest(`${service}/Generate`, asIs, protobufCodec.decode, request);
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

/** The client hears nothing before the end, and then the last output. */
export const grpcCollect: StreamDialect = {
  name: 'grpc Collect',
  hasOneInput: false,
  connect(address, open, listener) {
    const client = clientFor(address);
    const call = client.makeClientStreamRequest(`${service}/Collect`, asIs, collectedFrames, (_, frames) => {
      for (const frame of frames ?? []) listener.onFrame(frame);
    });
    const link = linkOn(client, call, listener, (frame) => void call.write(protobufCodec.encode(frame)));
    link.send(open);
    return link;
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
  call: grpc.ClientReadableStream<StreamServerFrame> | grpc.ClientWritableStream<Buffer>,
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
  call.on('data', (frame: StreamServerFrame) => {
    if (!isOver) listener.onFrame(frame);
  });
  call.on('error', () => {});
  call.on('status', ({ code, details, metadata }: grpc.StatusObject) => {
    const [bytes] = metadata.get('grpc-status-details-bin');
    over(codeFromDetails(bytes as Buffer | undefined), `${code} ${details}`);
  });
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
