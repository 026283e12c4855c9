/** Operations on a model, which exist for the version it prefers and for a named one. */
import type { HttpResponse } from '@millrace/http';
import * as z from 'zod';
import { encodeError } from '../routing/encode-error.ts';
import type { Route, RoutedRequest } from '../routing/route.ts';
import type { RestConfig } from './config.ts';

const versionSchema = z.string().regex(/^[0-9]+$/);

export interface ModelOperationDependencies {
  readonly config: Pick<RestConfig, 'retryAfterSeconds'>;
  readonly onError: (error: unknown) => void;
}

export interface ModelOperation extends Pick<Route, 'headers' | 'method' | 'request' | 'responses' | 'summary'> {
  readonly suffix: string;
  readonly name: string;
  /** What it throws becomes an answer; a promise must not be rejected. */
  run(routed: RoutedRequest, model: string, version: string): HttpResponse | Promise<HttpResponse>;
}

export function modelOperation(dependencies: ModelOperationDependencies, operation: ModelOperation): readonly Route[] {
  const { name, suffix, run, ...declared } = operation;
  const encode = {
    retryAfterSeconds: dependencies.config.retryAfterSeconds,
    onError: dependencies.onError,
  };
  const handler = (routed: RoutedRequest): HttpResponse | Promise<HttpResponse> => {
    try {
      return run(routed, routed.parameters.get('model') ?? '', routed.parameters.get('version') ?? '');
    } catch (error) {
      return encodeError(error, encode);
    }
  };
  const versioned = { version: versionSchema };
  return [
    { ...declared, path: `/v2/models/{model}${suffix}`, operationId: `model${name}`, handler },
    {
      ...declared,
      path: `/v2/models/{model}/versions/{version}${suffix}`,
      operationId: `modelVersion${name}`,
      parameters: versioned,
      handler,
    },
  ];
}
