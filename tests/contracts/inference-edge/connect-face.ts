/** Connect's unary calls, in protobuf and in its JSON. */
import { HttpCalls, type HttpQuestion, type HttpReply } from './http-calls.ts';
import {
  codeFromErrorInfo,
  inferAnswerFrom,
  malformedMessage,
  modelInferPath,
  requestBytes,
  requestFields,
} from './infer-messages.ts';
import { type FaceOutcome, type FaceRequest, type InferenceFace, refusalFrom } from './inference-face.ts';

export type ConnectCodec = 'json' | 'proto';

export function openConnectFace(url: string, codec: ConnectCodec): InferenceFace {
  const calls = new HttpCalls(url, (reply) => outcomeFrom(reply, codec));
  const messageFrom = (request: FaceRequest): Uint8Array =>
    codec === 'proto' ? requestBytes(request, 'raw') : Buffer.from(JSON.stringify(requestFields(request, 'typed')));
  const questionFrom = (request: FaceRequest) => questionOf(messageFrom(request), codec, request.timeoutMs);
  const malformed = codec === 'proto' ? malformedMessage : Buffer.from('{"inputs":');
  return {
    call: (request) => calls.call(questionFrom(request)),
    callUnread: (request) => calls.callUnread(questionFrom(request)),
    callMalformed: () => calls.call(questionOf(malformed, codec, undefined)).outcome,
    close: () => calls.close(),
  };
}

function questionOf(body: Uint8Array, codec: ConnectCodec, timeoutMs: number | undefined): HttpQuestion {
  return {
    path: modelInferPath,
    headers: {
      'content-type': `application/${codec}`,
      'connect-protocol-version': '1',
      ...(timeoutMs === undefined ? {} : { 'connect-timeout-ms': String(timeoutMs) }),
    },
    body,
  };
}

interface JsonAnswer {
  readonly modelName: string;
  readonly modelVersion: string;
  readonly id?: string;
  readonly outputs: readonly { readonly name: string; readonly datatype: string; readonly shape?: readonly string[] }[];
  readonly rawOutputContents: readonly string[];
}

function outcomeFrom({ status, body }: HttpReply, codec: ConnectCodec): FaceOutcome {
  if (status !== 200) return refusalOf(body);
  if (codec === 'proto') return inferAnswerFrom(body);
  const { modelName, modelVersion, id = '', outputs, rawOutputContents } = JSON.parse(String(body)) as JsonAnswer;
  return {
    model: modelName,
    version: modelVersion,
    id,
    outputs: outputs.map(({ name, datatype, shape = [] }, index) => ({
      name,
      datatype: datatype as Outputs['datatype'],
      shape: shape.map(Number),
      data: Uint8Array.from(Buffer.from(rawOutputContents[index] as string, 'base64')),
    })),
  };
}

type Outputs = ReturnType<typeof inferAnswerFrom>['outputs'][number];

function refusalOf(body: Buffer): FaceOutcome {
  const { code, message, details } = JSON.parse(String(body)) as {
    code: string;
    message: string;
    details?: readonly { readonly type: string; readonly value: string }[];
  };
  const info = details?.find(({ type }) => type === 'google.rpc.ErrorInfo')?.value;
  const name = code === 'canceled' ? 'CANCELLED' : code.toUpperCase();
  return refusalFrom(info === undefined ? '' : codeFromErrorInfo(Buffer.from(info, 'base64')), message, 'grpc', name);
}
