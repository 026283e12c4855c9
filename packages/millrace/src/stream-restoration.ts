/** Takes over the streams that an earlier process left in the journal; again after a pause where that cannot be read. */
import type { Clock, StreamHost } from '@millrace/router/internal';
import type { Logger } from './logging/logger.ts';

export interface StreamRestorationParts {
  readonly host: Pick<StreamHost, 'restore'>;
  readonly clock: Pick<Clock, 'alarm'>;
  readonly logger: Pick<Logger, 'error' | 'info' | 'warn'>;
}

const triesMax = 12;
const pauseMsMin = 1000;
const pauseMsMax = 60_000;

export class StreamRestoration {
  readonly #parts: StreamRestorationParts;
  #cancelPause: (() => void) | undefined;
  #isClosed: boolean = false;

  constructor(parts: StreamRestorationParts) {
    this.#parts = parts;
  }

  start(): void {
    void this.#try(1);
  }

  /** The server shuts down: nothing is tried again. */
  close(): void {
    this.#isClosed = true;
    this.#cancelPause?.();
  }

  async #try(attempt: number): Promise<void> {
    const { host, clock, logger } = this.#parts;
    try {
      const count = await host.restore((stream, error) =>
        logger.warn({ stream, error }, 'stream not taken over from the journal; its client may try again'),
      );
      logger.info({ streams: count }, 'streams taken over from the journal');
    } catch (error) {
      if (this.#isClosed) return;
      if (attempt === triesMax) {
        logger.error(
          { error, tries: attempt },
          'the journal of streams cannot be read; streams are taken over when their clients resume them',
        );
        return;
      }
      const pauseMs = Math.min(pauseMsMin * 2 ** (attempt - 1), pauseMsMax);
      logger.warn({ error, retryMs: pauseMs }, 'the journal of streams cannot be read; trying again');
      this.#cancelPause = clock.alarm(pauseMs, () => void this.#try(attempt + 1));
    }
  }
}
