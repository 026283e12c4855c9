/** What runs in the browser: Connect-ES over each of its transports, against a server of another origin. */
import { type Client, Code, ConnectError, createClient, type Transport } from '@connectrpc/connect';
import { createConnectTransport, createGrpcWebTransport } from '@connectrpc/connect-web';
import { Echo } from './generated/echo_pb';
import { ErrorInfoSchema } from './generated/google/rpc/error_details_pb';
import { Health, HealthCheckResponse_ServingStatus as Status } from './generated/grpc/health/v1/health_pb';
import { GRPCInferenceService } from './generated/inference/grpc_service_pb';

type Check = (transports: { api: Transport; echo: Transport }) => Promise<void>;

function equal(actual: unknown, expected: unknown): void {
  const [a, b] = [actual, expected].map((value) => JSON.stringify(value));
  if (a !== b) throw new Error(`expected ${b}, got ${a}`);
}

async function failure(promise: Promise<unknown>): Promise<ConnectError> {
  try {
    await promise;
  } catch (error) {
    return ConnectError.from(error);
  }
  throw new Error('it did not fail');
}

const checks: Record<string, Check> = {
  metadata: async ({ api }) => {
    const client = createClient(GRPCInferenceService, api);
    equal((await client.serverMetadata({})).name, 'millrace');
    equal((await client.modelReady({ name: 'mlp' })).ready, true);
  },
  inference: async ({ api }) => {
    const client = createClient(GRPCInferenceService, api);
    const data = new Float32Array(64).fill(0.5);
    const answer = await client.modelInfer({
      modelName: 'mlp',
      id: 'seven',
      inputs: [{ name: 'input', datatype: 'FP32', shape: [1n, 64n] }],
      rawInputContents: [new Uint8Array(data.buffer)],
    });
    equal(answer.id, 'seven');
    const output = answer.rawOutputContents[0] ?? new Uint8Array();
    const sum = new Float32Array(output.slice().buffer).reduce((a, b) => a + b, 0);
    equal([output.length, Math.round(sum * 1000)], [40, 1000]);
  },
  'an error with details': async ({ api }) => {
    const error = await failure(createClient(GRPCInferenceService, api).modelInfer({ modelName: 'nobody' }));
    equal([error.code, error.rawMessage], [Code.NotFound, "Request for unknown model: 'nobody' is not found"]);
    equal(
      error.findDetails(ErrorInfoSchema).map(({ reason }) => reason),
      ['UNKNOWN_MODEL'],
    );
  },
  'headers and trailers': async ({ echo }) => {
    let leading = '';
    let trailing = '';
    await createClient(Echo, echo).unary(
      { text: 'metadata' },
      {
        headers: { 'x-text': 'one', 'x-bytes-bin': 'AQI' },
        onHeader: (headers) => {
          leading = headers.get('x-text') ?? '';
        },
        onTrailer: (trailers) => {
          trailing = trailers.get('x-bytes-bin') ?? '';
        },
      },
    );
    equal([leading, trailing], ['one', 'AQI']);
  },
  'server streaming': async ({ echo }) => {
    let count = 0;
    for await (const { text } of createClient(Echo, echo).split({ text: 'count 5000' })) equal(text, String(count++));
    equal(count, 5000);
  },
  'a stream that fails later': async ({ echo }) => {
    const texts: string[] = [];
    const error = await failure(
      (async () => {
        for await (const { text } of createClient(Echo, echo).split({ text: 'a b fail' })) texts.push(text);
      })(),
    );
    equal([texts, error.code], [['a', 'b'], Code.OutOfRange]);
  },
  'a stream that the page leaves': async ({ api, echo }) => {
    const controller = new AbortController();
    const client: Client<typeof Health> = createClient(Health, api);
    for await (const { status } of client.watch({ service: 'mlp' }, { signal: controller.signal })) {
      equal(status, Status.SERVING);
      break;
    }
    controller.abort();
    const notes = createClient(Echo, echo);
    const before = Number((await notes.unary({ text: 'cancelled?' })).text);
    const leaving = new AbortController();
    const stream = notes.split({ text: 'hang' }, { signal: leaving.signal });
    const left = failure(
      (async () => {
        for await (const { text } of stream) {
          equal(text, 'hanging');
          leaving.abort();
        }
      })(),
    );
    equal((await left).code, Code.Canceled);
    // A browser that was not reading when the page left drains what still comes for up to five seconds, in case that is
    // the end, and closes the connection only then.
    for (let attempt = 0; attempt < 600; attempt++) {
      if (Number((await notes.unary({ text: 'cancelled?' })).text) > before) return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    throw new Error('the handler did not hear of it');
  },
  'a time limit': async ({ echo }) => {
    const error = await failure(createClient(Echo, echo).unary({ text: 'hang' }, { timeoutMs: 200 }));
    equal(error.code, Code.DeadlineExceeded);
  },
};

/** Called from outside; gives the checks that failed and how many there were. */
async function runChecks(apiUrl: string, echoUrl: string): Promise<{ total: number; failures: string[] }> {
  const make: Record<string, (baseUrl: string) => Transport> = {
    'gRPC-Web': (baseUrl) => createGrpcWebTransport({ baseUrl }),
    'gRPC-Web with JSON': (baseUrl) => createGrpcWebTransport({ baseUrl, useBinaryFormat: false }),
    'Connect with JSON': (baseUrl) => createConnectTransport({ baseUrl }),
    'Connect with protobuf': (baseUrl) => createConnectTransport({ baseUrl, useBinaryFormat: true }),
    'Connect by GET': (baseUrl) => createConnectTransport({ baseUrl, useHttpGet: true }),
  };
  const failures: string[] = [];
  let total = 0;
  for (const [transport, create] of Object.entries(make)) {
    for (const [name, check] of Object.entries(checks)) {
      total += 1;
      try {
        await check({ api: create(apiUrl), echo: create(echoUrl) });
      } catch (error) {
        failures.push(`${transport}, ${name}: ${String(error)}`);
      }
    }
  }
  return { total, failures };
}

Object.assign(globalThis, { runChecks });
