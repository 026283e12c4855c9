/** gRPC's health checking on the readiness of the server and of each model. */
import { create } from '@bufbuild/protobuf';
import { RpcError, type RpcService, type StreamCall, serverStream, unary } from '@millrace/http';
import { quote } from '@millrace/protocol';
import type { Catalogue, WatchedHealth } from '../../catalogue/catalogue.ts';
import {
  file_grpc_health_v1_health,
  Health,
  HealthCheckRequestSchema,
  type HealthCheckResponse,
  HealthCheckResponseSchema,
  HealthListRequestSchema,
  HealthListResponseSchema,
  HealthCheckResponse_ServingStatus as ServingStatus,
} from '../../proto/generated/grpc/health/v1/health_pb.ts';
import { takeReadinessProblem } from '../model-readiness.ts';
import type { SliceGenerator } from '../slices/slice-queue.ts';
import type { AddedService } from './added-service.ts';
import type { CallTurns } from './call-turns.ts';
import { codecOf } from './message-codec.ts';
import { encodeInParts, type MessageParts, partsCodec } from './message-parts.ts';

export interface HealthDependencies {
  readonly health: WatchedHealth;
  readonly catalogue: Catalogue;
  /** Names of services, whose health is that of the server. */
  readonly serviceNames: readonly string[];
  readonly turns: CallTurns;
}

/** Services and models whose health is written in one turn of the event loop: less than a millisecond. */
export const healthsPerTurn = 64;

export class HealthService implements AddedService {
  readonly file = file_grpc_health_v1_health;
  readonly #health: WatchedHealth;
  readonly #catalogue: Catalogue;
  readonly #serviceNames: ReadonlySet<string>;
  readonly #turns: CallTurns;
  readonly #watches = new Set<StreamCall<HealthCheckResponse>>();

  constructor({ health, catalogue, serviceNames, turns }: HealthDependencies) {
    this.#health = health;
    this.#catalogue = catalogue;
    this.#serviceNames = new Set(['', ...serviceNames]);
    this.#turns = turns;
  }

  get service(): RpcService {
    const response = codecOf(HealthCheckResponseSchema);
    return {
      name: Health.typeName,
      methods: [
        unary({
          name: 'Check',
          isIdempotent: true,
          request: codecOf(HealthCheckRequestSchema),
          response,
          handle: ({ service }) => this.#check(service),
        }),
        unary({
          name: 'List',
          isIdempotent: true,
          request: codecOf(HealthListRequestSchema),
          response: partsCodec(HealthListResponseSchema),
          handle: (_, call) => this.#turns.run(call, this.#list()),
        }),
        serverStream({
          name: 'Watch',
          request: codecOf(HealthCheckRequestSchema),
          response,
          handle: ({ service }, call) => this.#watch(service, call),
        }),
      ],
    };
  }

  /** Ends every watch, so that a server that stops does not wait for watchers. */
  end(): void {
    for (const call of this.#watches) call.fail(new RpcError('unavailable', 'the server is shutting down'));
  }

  #check(service: string): HealthCheckResponse {
    const status = this.#statusOf(service);
    if (status === ServingStatus.SERVICE_UNKNOWN) {
      throw new RpcError('not_found', `${quote(service)} is neither a service nor a model of this server`);
    }
    return create(HealthCheckResponseSchema, { status });
  }

  *#list(): SliceGenerator<MessageParts> {
    const names = new Set([...this.#serviceNames, ...this.#catalogue.statuses().map(({ name }) => name)]);
    return yield* encodeInParts(HealthListResponseSchema, [...names], healthsPerTurn, (some) => ({
      statuses: Object.fromEntries(some.map((name) => [name, { status: this.#statusOf(name) }])),
    }));
  }

  #watch(service: string, call: StreamCall<HealthCheckResponse>): undefined {
    let told: ServingStatus | undefined;
    let isWaiting = false;
    const tell = (): void => {
      const status = this.#statusOf(service);
      if (isWaiting || status === told) return;
      told = status;
      if (call.send(create(HealthCheckResponseSchema, { status }))) return;
      // A watcher that does not read gets only the latest status when it does.
      isWaiting = true;
      call.onRoom = () => {
        isWaiting = false;
        tell();
      };
    };
    const stopWatching = this.#health.onChange(tell);
    this.#watches.add(call);
    call.whenEnded(() => {
      stopWatching();
      this.#watches.delete(call);
    });
    // Nothing else ends a watch whose caller has disconnected.
    call.signal.onCancel(() => call.end());
    tell();
    return undefined;
  }

  #statusOf(service: string): ServingStatus {
    if (this.#serviceNames.has(service)) return statusFrom(this.#health.isReady);
    const problem = takeReadinessProblem(this.#catalogue, service, '');
    // A name with a version or a label is known also while it is not ready.
    const isKnown =
      problem === undefined ||
      problem.code === 'model-not-ready' ||
      this.#catalogue.statuses().some(({ name }) => name === service);
    if (!isKnown) return ServingStatus.SERVICE_UNKNOWN;
    return statusFrom(problem === undefined && !this.#health.isEnding);
  }
}

function statusFrom(isServing: boolean): ServingStatus {
  return isServing ? ServingStatus.SERVING : ServingStatus.NOT_SERVING;
}
