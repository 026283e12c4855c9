/** gRPC's health checking on the readiness of the server and of each model. */
import { create } from '@bufbuild/protobuf';
import { RpcError, type RpcService, type StreamCall, serverStream, unary } from '@millrace/http';
import { InferenceError, quote } from '@millrace/protocol';
import type { Catalogue, WatchedHealth } from '../../catalogue/catalogue.ts';
import {
  Health,
  HealthCheckRequestSchema,
  type HealthCheckResponse,
  HealthCheckResponseSchema,
  HealthListRequestSchema,
  HealthListResponseSchema,
  HealthCheckResponse_ServingStatus as ServingStatus,
} from '../../proto/generated/grpc/health/v1/health_pb.ts';
import { codecOf } from './message-codec.ts';
import { isModelReady } from './routes.ts';

export interface HealthDependencies {
  readonly health: WatchedHealth;
  readonly catalogue: Catalogue;
  /** Names of services, each as healthy as the server is. */
  readonly serviceNames: readonly string[];
}

export class HealthService {
  readonly #health: WatchedHealth;
  readonly #catalogue: Catalogue;
  readonly #serviceNames: ReadonlySet<string>;
  readonly #watches = new Set<StreamCall<HealthCheckResponse>>();

  constructor({ health, catalogue, serviceNames }: HealthDependencies) {
    this.#health = health;
    this.#catalogue = catalogue;
    this.#serviceNames = new Set(['', ...serviceNames]);
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
          response: codecOf(HealthListResponseSchema),
          handle: () => this.#list(),
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

  /** Ends every watch: the server goes, and must not wait for those who only look on. */
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

  #list() {
    const names = [...this.#serviceNames, ...this.#catalogue.statuses().map(({ name }) => name)];
    const statuses = Object.fromEntries(names.map((name) => [name, { status: this.#statusOf(name) }]));
    return create(HealthListResponseSchema, { statuses });
  }

  #watch(service: string, call: StreamCall<HealthCheckResponse>): undefined {
    let told: ServingStatus | undefined;
    let isWaiting = false;
    const tell = (): void => {
      const status = this.#statusOf(service);
      if (isWaiting || status === told) return;
      told = status;
      if (call.send(create(HealthCheckResponseSchema, { status }))) return;
      // A watcher that does not read hears of the latest status when it does, not of all it missed.
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
    // Nothing else ends a watch that its caller has left.
    call.signal.onCancel(() => call.end());
    tell();
    return undefined;
  }

  #statusOf(service: string): ServingStatus {
    if (this.#serviceNames.has(service)) return statusFrom(this.#health.isReady);
    const isModel = this.#catalogue.statuses().some(({ name }) => name === service);
    if (!isModel && !this.#isNamed(service)) return ServingStatus.SERVICE_UNKNOWN;
    return statusFrom(!this.#health.isEnding && isModelReady(this.#catalogue, service, ''));
  }

  /** A model with its version or a label, ready or not. */
  #isNamed(service: string): boolean {
    try {
      this.#catalogue.mustFind(service, '');
      return true;
    } catch (error) {
      if (!(error instanceof InferenceError)) throw error;
      return error.code === 'model-not-ready';
    }
  }
}

function statusFrom(isServing: boolean): ServingStatus {
  return isServing ? ServingStatus.SERVING : ServingStatus.NOT_SERVING;
}
