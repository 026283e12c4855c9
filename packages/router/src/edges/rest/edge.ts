import type { HttpHandler } from '@millrace/http';
import { CallerRule } from '../caller.ts';
import type { OpenInferenceParts } from '../open-inference.ts';
import { encodeError } from '../routing/encode-error.ts';
import { openApiRoute } from '../routing/openapi.ts';
import type { Route } from '../routing/route.ts';
import { createRouter } from '../routing/router.ts';
import { SliceQueue } from '../slices/slice-queue.ts';
import { type RestOptions, resolveRestConfig } from './config.ts';
import { restRoutes } from './routes.ts';

export interface RestEdgeOptions extends OpenInferenceParts {
  /** Of other edges that share its port and its OpenAPI document. */
  readonly routes?: readonly Route[];
  readonly limits?: RestOptions;
  /** Left out, callers are distinguished by the owners of their connections. */
  readonly callers?: CallerRule;
  /** Where work on large bodies takes turns with that of other edges; one of its own unless given. */
  readonly slices?: SliceQueue;
  /** Called with unexpected errors; clients see only that there was one. */
  readonly onError?: (error: unknown) => void;
}

/** The whole REST edge as one handler, with its OpenAPI document at /openapi.json. */
export function createRestEdge(options: RestEdgeOptions): HttpHandler {
  const {
    server,
    routes: added = [],
    limits = {},
    callers = new CallerRule(),
    slices = new SliceQueue(),
    onError = () => {},
    ...parts
  } = options;
  const config = resolveRestConfig(limits);
  const routes = [...restRoutes({ ...parts, server, config, callers, slices, onError }), ...added];
  const document = openApiRoute(
    { title: server.name, version: server.version, description: 'The Open Inference Protocol over REST' },
    routes,
  );
  const { retryAfterSeconds } = config;
  return createRouter([...routes, document], (error) => encodeError(error, { retryAfterSeconds, onError }));
}
