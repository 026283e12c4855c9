import type { HttpHandler } from '@millrace/http';
import { openApiRoute } from '../routing/openapi.ts';
import type { Route } from '../routing/route.ts';
import { createRouter } from '../routing/router.ts';
import { type RestOptions, resolveRestConfig } from './config.ts';
import { encodeError } from './encode-error.ts';
import { type RestDependencies, restRoutes } from './routes.ts';

export interface RestEdgeOptions
  extends Pick<RestDependencies, 'catalogue' | 'dataPlane' | 'health' | 'management' | 'server' | 'statistics'> {
  /** Of other edges that share its port and its OpenAPI document. */
  readonly routes?: readonly Route[];
  readonly limits?: RestOptions;
  /** The header field that names the caller; left out, callers are told apart by their addresses. */
  readonly callerHeader?: string;
  /** Hears of defects; clients are told only that there was one. */
  readonly onError?: (error: unknown) => void;
}

/** The whole REST edge as one handler, with its OpenAPI document at /openapi.json. */
export function createRestEdge(options: RestEdgeOptions): HttpHandler {
  const { catalogue, dataPlane, health, management, server, statistics } = options;
  const config = resolveRestConfig(options.limits ?? {});
  const onError = options.onError ?? (() => {});
  const callerHeader = options.callerHeader ?? '';
  const own = restRoutes({
    catalogue,
    dataPlane,
    health,
    management,
    server,
    statistics,
    config,
    callerHeader,
    onError,
  });
  const routes = [...own, ...(options.routes ?? [])];
  const document = openApiRoute(
    { title: server.name, version: server.version, description: 'The Open Inference Protocol over REST' },
    routes,
  );
  const { retryAfterSeconds } = config;
  return createRouter([...routes, document], (error) => encodeError(error, { retryAfterSeconds, onError }));
}
