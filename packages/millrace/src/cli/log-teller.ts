import type { Logger } from '../logging/logger.ts';
import type { RunningServer, ServedModelStatus } from '../running-server.ts';

/** Logs the state of models, where no start screen is shown. */
export class LogTeller {
  readonly #logger: Logger;
  readonly #server: RunningServer;
  /** By model and version. */
  readonly #told = new Map<string, string>();

  constructor(logger: Logger, server: RunningServer) {
    this.#logger = logger;
    this.#server = server;
  }

  begin(version: string): void {
    const { host, httpUrl, grpcUrl, metricsUrl, managementUrl } = this.#server;
    // Whatever the level, short of silence: where the system chose the port, nothing else says which.
    const logger = this.#logger.level === 'silent' ? this.#logger : this.#logger.child({}, { level: 'info' });
    logger.info({ version, pid: process.pid, host, httpUrl, grpcUrl, metricsUrl, managementUrl }, 'listening');
    for (const { message, host, advice } of this.#server.notices) this.#logger.warn({ host, advice }, message);
  }

  update(): void {
    const models = this.#server.models();
    const present = new Set(models.map(keyOf));
    for (const key of this.#told.keys()) if (!present.has(key)) this.#told.delete(key);
    for (const model of models) {
      const key = keyOf(model);
      // A failure for another reason is logged again.
      const told = model.state === 'failed' ? `failed: ${model.reason}` : model.state;
      if (this.#told.get(key) === told) continue;
      this.#told.set(key, told);
      const who = { model: model.name, version: model.version };
      if (model.state === 'ready') this.#logger.info({ ...who, loadMs: roundedMs(model.loadMs) }, 'model ready');
      else if (model.state === 'failed') this.#logger.error({ ...who, reason: model.reason }, failedText(model));
      else this.#logger.debug(who, `model ${model.state}`);
    }
  }
}

function failedText({ isTolerated, hasNeverServed }: ServedModelStatus): string {
  if (isTolerated === true) return 'model failed; versions served before keep serving';
  return hasNeverServed === true ? 'model failed; it has never served' : 'model failed';
}

function keyOf({ name, version }: ServedModelStatus): string {
  return JSON.stringify([name, version]);
}

function roundedMs(ms: number | undefined): number | undefined {
  return ms === undefined ? undefined : Math.round(ms * 10) / 10;
}
