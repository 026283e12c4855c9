/** `GET /`: what this is and where to go, for people who open the address of a server. */
import type { HttpResponse } from '@millrace/http';
import type { OpenInferenceParts } from '../open-inference.ts';
import { jsonContent, type Route } from '../routing/route.ts';
import { jsonResponse } from './encode-model.ts';
import { frontPageSchema } from './schemas.ts';

/** The most models that it names. */
const namesMax = 20;

const paths = {
  metadata: '/v2',
  ready: '/v2/health/ready',
  model: '/v2/models/{model}',
  infer: '/v2/models/{model}/infer',
  generate: '/v2/models/{model}/generate',
  streams: '/v1/streams',
  openapi: '/openapi.json',
};

export function frontPageRoute({ catalogue, server }: OpenInferenceParts): Route {
  const { name, version } = server;
  const about = `Millrace ${version}, an inference server`;
  const readyNames = (): string[] => [
    ...new Set(catalogue.statuses().flatMap((one) => (one.state === 'ready' ? [one.name] : []))),
  ];
  return {
    method: 'GET',
    path: '/',
    operationId: 'frontPage',
    summary: 'What this is, and where to go',
    responses: {
      200: { description: 'JSON, or text for a browser', content: jsonContent(frontPageSchema) },
    },
    handler: ({ request }): HttpResponse => {
      const names = readyNames();
      const models = names.slice(0, namesMax);
      const vary: readonly [string, string] = ['vary', 'accept'];
      // Browsers ask for HTML; text needs no escaping.
      if (request.headers.getAll('accept').some((value) => value.includes('text/html'))) {
        const body = new TextEncoder().encode(pageText(about, name, models, names.length));
        return { status: 200, headers: [['content-type', 'text/plain; charset=utf-8'], vary], body };
      }
      const { headers, ...answer } = jsonResponse({ about, name, version, models, modelsReady: names.length, paths });
      return { ...answer, headers: [...headers, vary] };
    },
  };
}

function pageText(about: string, name: string, models: readonly string[], modelsReady: number): string {
  const more = modelsReady > models.length ? ` and ${modelsReady - models.length} more` : '';
  return [
    `${about}. This one is called ${name}.`,
    '',
    `Models that are ready: ${models.length === 0 ? 'none' : `${models.join(', ')}${more}`}`,
    '',
    `GET  ${paths.model}        inputs and outputs of a model`,
    `POST ${paths.infer}  run it`,
    `POST ${paths.generate}  text for a prompt; ${paths.generate}_stream sends it as it is made`,
    `POST ${paths.streams}                 open a durable stream, as server-sent events; the same path takes WebSocket`,
    `GET  ${paths.ready}          whether all models are ready`,
    `GET  ${paths.openapi}             all operations`,
    '',
    'gRPC, gRPC-Web and Connect are served on this port too: inference.GRPCInferenceService, and millrace.v1.InferenceService for streams.',
    '',
  ].join('\n');
}
