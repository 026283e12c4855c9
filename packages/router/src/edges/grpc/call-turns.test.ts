import { create, fromBinary } from '@bufbuild/protobuf';
import type { RequestListener, RpcMethod } from '@millrace/http';
import { neverCancelled } from '@millrace/protocol';
import { expect, test } from 'vitest';
import type { Statistics } from '../../management/statistics.ts';
import { HealthListRequestSchema, HealthListResponseSchema } from '../../proto/generated/grpc/health/v1/health_pb.ts';
import { ServerReflectionRequestSchema } from '../../proto/generated/grpc/reflection/v1/reflection_pb.ts';
import {
  file_inference_grpc_service,
  ModelStatisticsRequestSchema,
  ModelStatisticsResponseSchema,
} from '../../proto/generated/inference/grpc_service_pb.ts';
import { ModelTally } from '../../telemetry/model-tally.ts';
import { catalogueOf, viewOf } from '../rest/testing/echo-double.ts';
import { SliceQueue } from '../slices/slice-queue.ts';
import { CallTurns } from './call-turns.ts';
import { HealthService, healthsPerTurn } from './health-service.ts';
import type { MessageParts } from './message-parts.ts';
import { ReflectionService } from './reflection-service.ts';
import { statisticsMethods, statisticsPerTurn } from './statistics-methods.ts';
import { HealthDouble } from './testing/served-edge.ts';

/** Turns of the event loop that the test makes. */
class Turns {
  readonly #due: (() => void)[] = [];
  readonly calls = new CallTurns(new SliceQueue((run) => this.#due.push(run)));

  /** Makes turns until the call is answered, and says how many it took. */
  async until(answer: Promise<unknown>): Promise<number> {
    let isAnswered = false;
    void answer.then(() => {
      isAnswered = true;
    });
    for (let turn = 0; ; turn += 1) {
      await Promise.resolve();
      if (isAnswered) return turn;
      this.make();
    }
  }

  make(): void {
    for (const run of this.#due.splice(0)) run();
  }
}

function ask(method: RpcMethod | undefined, request: unknown, owner = 'a'): Promise<MessageParts> {
  if (method?.kind !== 'unary') throw new Error('no unary method');
  const peer = { address: owner, port: 1, isEncrypted: false, owner, isTrustedProxy: false };
  return method.handle(request, { peer, signal: neverCancelled } as never) as Promise<MessageParts>;
}

const models = (count: number): string[] => Array.from({ length: count }, (_, at) => `m${at}`);

function statisticsOf(names: readonly string[]): Statistics & { asked: string[] } {
  const asked: string[] = [];
  const of: Statistics['of'] = (name) => {
    asked.push(name);
    return names.map((one) => ({ name: one, version: '1', ...new ModelTally(() => 0).statistics(), memory: [] }));
  };
  return { of, asked };
}

test('statistics are taken and written for one of many calls in a turn, callers in rotation', () => {
  const turns = new Turns();
  const statistics = statisticsOf(['m']);
  const [method] = statisticsMethods(statistics, turns.calls);
  const request = (name: string) => create(ModelStatisticsRequestSchema, { name });
  for (let call = 0; call < 200; call += 1) void ask(method, request('many'), 'a');
  void ask(method, request('one'), 'b');
  expect(statistics.asked).toEqual([]);
  turns.make();
  expect(statistics.asked).toEqual(['many']);
  turns.make();
  expect(statistics.asked).toEqual(['many', 'one']);
});

test('statistics of many models are written in parts that are one message', async () => {
  const turns = new Turns();
  const names = models(3 * statisticsPerTurn - 1);
  const [method] = statisticsMethods(statisticsOf(names), turns.calls);
  const answer = ask(method, create(ModelStatisticsRequestSchema, {}));
  expect(await turns.until(answer)).toBeGreaterThanOrEqual(3);
  const { modelStats } = fromBinary(ModelStatisticsResponseSchema, Buffer.concat(await answer));
  expect(modelStats.map(({ name }) => name)).toEqual(names);
  expect(modelStats[0]?.inferenceStats?.success).toMatchObject({ count: 0n, ns: 0n });
});

test('the health of many models is written in parts that are one message', async () => {
  const turns = new Turns();
  const names = models(2 * healthsPerTurn);
  const service = new HealthService({
    health: new HealthDouble(),
    catalogue: catalogueOf(...names.map((name) => viewOf(name))),
    serviceNames: ['inference'],
    turns: turns.calls,
  });
  const list = service.service.methods.find(({ name }) => name === 'List');
  const answer = ask(list, create(HealthListRequestSchema));
  expect(await turns.until(answer)).toBeGreaterThanOrEqual(3);
  const { statuses } = fromBinary(HealthListResponseSchema, Buffer.concat(await answer));
  expect(new Set(Object.keys(statuses))).toEqual(new Set(['', 'inference', ...names]));
});

test('a stream of reflection requests is held back until the one before is answered', async () => {
  const turns = new Turns();
  const service = new ReflectionService([file_inference_grpc_service], turns.calls);
  const method = service.services[0]?.methods[0];
  if (method?.kind !== 'bidi') throw new Error('no bidi method');
  const sent: unknown[] = [];
  let isPaused = false;
  let listener: RequestListener<unknown> | undefined;
  const requests = {
    listen: (given: RequestListener<unknown>) => {
      listener = given;
    },
    pause: () => {
      isPaused = true;
    },
    resume: () => {
      isPaused = false;
    },
  };
  const peer = { address: 'a', port: 1, isEncrypted: false, owner: 'a', isTrustedProxy: false };
  const call = { peer, signal: neverCancelled, whenEnded: () => {}, send: (answer: unknown) => sent.push(answer) > 0 };
  method.handle(requests as never, call as never);
  listener?.onMessage(create(ServerReflectionRequestSchema), 0);
  expect([isPaused, sent.length]).toEqual([true, 0]);
  turns.make();
  turns.make();
  await Promise.resolve();
  expect([isPaused, sent.length]).toEqual([false, 1]);
});
