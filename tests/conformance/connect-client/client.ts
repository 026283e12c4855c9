/**
 * The program the Connect conformance runner starts in client mode: reads from stdin which calls to make, makes them with the
 * callers of @millrace/client, and says on stdout what came of each. Usage: node client.js DESCRIPTORS.
 */
import { readFileSync } from 'node:fs';
import { create, createFileRegistry, fromBinary, type Message, toBinary } from '@bufbuild/protobuf';
import { FileDescriptorSetSchema } from '@bufbuild/protobuf/wkt';
import { ConnectCaller, ConnectionPool, GrpcWebCaller, type RpcField, statusCode } from '@millrace/client/internal';
import { mustFindMessage } from '../connect/messages.ts';
import { type ClientCompatRequest, protocolOf } from './client-messages.ts';
import { ToldCall } from './told-call.ts';

const registry = createFileRegistry(fromBinary(FileDescriptorSetSchema, readFileSync(process.argv[2] as string)));
const pools = new Map<string, ConnectionPool>();
const messageBytesMaxDefault = 16 * 1024 * 1024;

/** Calls to one server share connections, as in a program. */
function poolOf(request: ClientCompatRequest): ConnectionPool {
  const { host, port, serverTlsCert, clientTlsCreds, messageReceiveLimit } = request;
  const isTls = serverTlsCert.length > 0;
  const key = [host, port, isTls, clientTlsCreds !== undefined, messageReceiveLimit].join();
  const known = pools.get(key);
  if (known !== undefined) return known;
  const pool = new ConnectionPool(new URL(`${isTls ? 'https' : 'http'}://${host}:${port}`), {
    messageBytesMax: messageReceiveLimit || messageBytesMaxDefault,
    tls: {
      ca: Buffer.from(serverTlsCert),
      ...(clientTlsCreds === undefined
        ? {}
        : { cert: Buffer.from(clientTlsCreds.cert), key: Buffer.from(clientTlsCreds.key) }),
    },
  });
  pools.set(key, pool);
  return pool;
}

async function answerTo(request: ClientCompatRequest): Promise<Message> {
  const { testName, protocol, host, port, messageReceiveLimit } = request;
  const call = new ToldCall(request);
  if (protocol === protocolOf.grpc) {
    const pool = poolOf(request);
    await call.run(pool, pool);
  } else {
    const Caller = protocol === protocolOf.connect ? ConnectCaller : GrpcWebCaller;
    const messageBytesMax = messageReceiveLimit || messageBytesMaxDefault;
    await call.run(new Caller({ base: `http://${host}:${port}`, fetch, messageBytesMax }), undefined);
  }
  return created('ClientCompatResponse', { testName, result: { case: 'response', value: resultOf(call, request) } });
}

function resultOf(call: ToldCall, { method }: ClientCompatRequest): Record<string, unknown> {
  const { outcome, messages, head, trailers, unsentRequests } = call;
  const schema = mustFindMessage(registry, `${method}Response`);
  const payloads = messages.map((message) => {
    const { payload } = fromBinary(schema, message) as unknown as { readonly payload?: Message };
    return payload ?? created('ConformancePayload', {});
  });
  const details = (outcome?.details ?? []).map(({ type, value }) => ({
    $typeName: 'google.protobuf.Any',
    typeUrl: `type.googleapis.com/${type}`,
    value,
  }));
  const isOk = outcome?.code === statusCode.ok;
  return {
    payloads,
    responseHeaders: headersFrom(head),
    responseTrailers: headersFrom(trailers),
    numUnsentRequests: unsentRequests,
    ...(isOk ? {} : { error: { code: outcome?.code, message: outcome?.message, details } }),
  };
}

function headersFrom(fields: readonly RpcField[]): readonly { name: string; value: readonly string[] }[] {
  const values = new Map<string, string[]>();
  for (const { name, value } of fields) {
    if (!name.startsWith(':')) values.set(name, [...(values.get(name) ?? []), value]);
  }
  return [...values].map(([name, value]) => ({ name, value }));
}

function created(name: string, init: Record<string, unknown>): Message {
  return create(mustFindMessage(registry, name), init);
}

async function answer(bytes: Uint8Array): Promise<void> {
  const request = fromBinary(mustFindMessage(registry, 'ClientCompatRequest'), bytes) as unknown as ClientCompatRequest;
  let told: Message;
  try {
    told = await answerTo(request);
  } catch (error) {
    const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
    told = created('ClientCompatResponse', {
      testName: request.testName,
      result: { case: 'error', value: { message } },
    });
  }
  const written = toBinary(mustFindMessage(registry, 'ClientCompatResponse'), told);
  const prefix = Buffer.alloc(4);
  prefix.writeUInt32BE(written.length);
  process.stdout.write(Buffer.concat([prefix, written]));
}

/** Some cases have two seconds for a call: with few of them at once that is enough on a busy machine too. */
const callsMax = 8;

let rest = Buffer.alloc(0);
const underWay = new Set<Promise<void>>();
for await (const piece of process.stdin) {
  rest = Buffer.concat([rest, piece as Buffer]);
  while (rest.length >= 4 && rest.length >= 4 + rest.readUInt32BE(0)) {
    const end = 4 + rest.readUInt32BE(0);
    const one: Promise<void> = answer(rest.subarray(4, end)).finally(() => underWay.delete(one));
    underWay.add(one);
    rest = rest.subarray(end);
    if (underWay.size >= callsMax) await Promise.race(underWay);
  }
}
await Promise.all(underWay);
for (const pool of pools.values()) pool.close();
