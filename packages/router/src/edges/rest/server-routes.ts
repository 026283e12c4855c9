/** Liveness, readiness and metadata of the server. */
import { extensionsOf, type OpenInferenceParts } from '../open-inference.ts';
import { standingAnswer } from '../routing/encode-error.ts';
import { jsonContent, type Route } from '../routing/route.ts';
import { jsonResponse } from './encode-model.ts';
import { healthSchema, serverMetadataSchema } from './schemas.ts';

export function serverRoutes(dependencies: OpenInferenceParts): readonly Route[] {
  const { health, server } = dependencies;
  const extensions = extensionsOf(dependencies);
  const { name, version } = server;
  const probe = (path: string, operationId: string, summary: string, isHealthy: () => boolean): Route => ({
    method: 'GET',
    path,
    operationId,
    summary,
    responses: { 200: { description: 'Yes' }, 400: { description: 'No' } },
    handler: standingAnswer([200, 400], () => (isHealthy() ? 200 : 400)),
  });
  return [
    probe('/v2/health/live', 'serverLive', 'Whether the server is up', () => health.isLive),
    probe('/v2/health/ready', 'serverReady', 'Whether every model is ready', () => health.isReady),
    {
      method: 'GET',
      path: '/healthz',
      operationId: 'healthz',
      summary: 'Whether the process is up, for probes without a protocol',
      responses: {
        200: { description: 'It is up', content: jsonContent(healthSchema) },
        503: { description: 'It is not up', content: jsonContent(healthSchema) },
      },
      handler: () => jsonResponse({ live: health.isLive, ready: health.isReady }, health.isLive ? 200 : 503),
    },
    {
      method: 'GET',
      path: '/v2',
      operationId: 'serverMetadata',
      summary: 'Name, version and extensions of the server',
      responses: { 200: { description: 'The metadata', content: jsonContent(serverMetadataSchema) } },
      handler: () => jsonResponse({ name, version, extensions }),
    },
  ];
}
