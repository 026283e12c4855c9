/** GET /metrics, in the format the scraper prefers. */
import type { HttpHandler, HttpResponse } from '@millrace/http';
import { type ExpositionFormat, expositionContentTypes } from './exposition.ts';
import type { MetricsRegistry } from './registry.ts';
import { ScrapeRounds } from './scrape-rounds.ts';

const encoder = new TextEncoder();

export function metricsHandler(registry: MetricsRegistry): HttpHandler {
  const rounds = new ScrapeRounds(registry);
  return async (request) => {
    if (request.path !== '/metrics') return plainText(404, 'Not found: metrics are at /metrics on this port.\n');
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      return plainText(405, 'Method not allowed: use GET.\n', [['allow', 'GET, HEAD']]);
    }
    const format = preferredFormat(request.headers.getAll('accept').join(','));
    return {
      status: 200,
      headers: [['content-type', expositionContentTypes[format]]],
      body: await rounds.scrape(format),
    };
  };
}

/** OpenMetrics only where the Accept header names it with at least the weight of the plain format. */
export function preferredFormat(accept: string): ExpositionFormat {
  let openMetrics = 0;
  let plain = 0;
  for (const range of accept.split(',')) {
    const [mediaType = '', ...parameters] = range.split(';').map((part) => part.trim().toLowerCase());
    const quality = qualityOf(parameters);
    if (mediaType === 'application/openmetrics-text' && speaksVersion(parameters)) {
      openMetrics = Math.max(openMetrics, quality);
    } else if (mediaType === 'text/plain') {
      plain = Math.max(plain, quality);
    }
  }
  return openMetrics > 0 && openMetrics >= plain ? 'openmetrics' : 'prometheus';
}

function qualityOf(parameters: readonly string[]): number {
  const written = parameters.find((parameter) => parameter.startsWith('q='))?.slice(2);
  if (written === undefined) return 1;
  const quality = Number(written);
  return quality >= 0 && quality <= 1 ? quality : 0;
}

function speaksVersion(parameters: readonly string[]): boolean {
  const version = parameters.find((parameter) => parameter.startsWith('version='))?.slice('version='.length);
  return version === undefined || version.replaceAll('"', '').startsWith('1.') || version.startsWith('0.0.1');
}

function plainText(status: number, text: string, headers: HttpResponse['headers'] = []): HttpResponse {
  return {
    status,
    headers: [['content-type', 'text/plain; charset=utf-8'], ...headers],
    body: encoder.encode(text),
  };
}
