/** SIGHUP: reads configuration and certificates again, and applies what can change while the server runs. */
import { ConfigError, formatConfigProblem } from '@millrace/protocol';
import type { Config } from '../config/fields.ts';
import { reloadedConfig } from '../config/reloaded-config.ts';
import type { Logger } from '../logging/logger.ts';
import type { RunningServer } from '../running-server.ts';

export interface ReloadParts {
  /** The configuration that the server was started with. */
  readonly config: Config;
  /** Reads the configuration as at the start. Throws a `ConfigError`. */
  readonly loadConfig: () => Config;
  readonly logger: Logger;
}

export class ConfigReloader {
  readonly #parts: ReloadParts;
  #config: Config;
  #server: RunningServer | undefined;
  /** A signal that came before the server listened. */
  #isWaiting: boolean = false;

  constructor(parts: ReloadParts) {
    this.#parts = parts;
    this.#config = parts.config;
  }

  /** What is in effect now. */
  get config(): Config {
    return this.#config;
  }

  started(server: RunningServer): void {
    this.#server = server;
    if (this.#isWaiting) this.reload();
  }

  /** All or nothing: where anything in configuration or certificates is wrong, everything stays as it is. */
  reload(): void {
    const server = this.#server;
    this.#isWaiting = server === undefined;
    if (server === undefined) return;
    const { loadConfig, logger } = this.#parts;
    try {
      const { config, applied, restartNeeded } = reloadedConfig(this.#config, loadConfig());
      const hasTls = config.tls.certificateFile !== '';
      if (hasTls) server.replaceCertificates(config.tls);
      this.#config = config;
      logger.level = config.log.level;
      logger.info({ applied, certificates: hasTls }, 'configuration reloaded');
      if (restartNeeded.length > 0) {
        logger.warn({ fields: restartNeeded }, 'changed settings take effect after a restart');
      }
    } catch (error) {
      if (!(error instanceof ConfigError)) throw error;
      const problems = error.problems.map(formatConfigProblem);
      logger.error({ problems }, 'reload failed; the previous configuration and certificates stay in use');
    }
  }
}
