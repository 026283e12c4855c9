import type { Logger } from '../logging/logger.ts';
import type { RunningServer, ServedModel } from './running-server.ts';

/** What the screen shows, as log lines. */
export class LogTeller {
  readonly #logger: Logger;
  readonly #server: RunningServer;
  readonly #toldStates = new Map<string, ServedModel['state']>();

  constructor(logger: Logger, server: RunningServer) {
    this.#logger = logger;
    this.#server = server;
  }

  begin(version: string): void {
    const { httpUrl, grpcUrl, metricsUrl, managementUrl } = this.#server;
    this.#logger.info({ version, httpUrl, grpcUrl, metricsUrl, managementUrl }, 'listening');
  }

  update(): void {
    const models = this.#server.models();
    const present = new Set(models.map(keyOf));
    for (const key of this.#toldStates.keys()) if (!present.has(key)) this.#toldStates.delete(key);
    for (const model of models) {
      const key = keyOf(model);
      if (this.#toldStates.get(key) === model.state) continue;
      this.#toldStates.set(key, model.state);
      const who = { model: model.name, version: model.version };
      if (model.state === 'ready') this.#logger.info({ ...who, loadMs: roundedMs(model.loadMs) }, 'model ready');
      else if (model.state === 'failed') this.#logger.error({ ...who, reason: model.reason }, 'model failed');
      else this.#logger.debug(who, `model ${model.state}`);
    }
  }
}

function keyOf({ name, version }: ServedModel): string {
  return JSON.stringify([name, version]);
}

function roundedMs(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : Math.round(ms * 10) / 10;
}
