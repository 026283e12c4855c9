/** Logs what the probes of stateful models found: whether their streams are exact. */
import { isExact, type ModelExactnessParts } from '@millrace/router/internal';
import type { Logger } from './logger.ts';

export function exactnessLog(logger: Logger): ModelExactnessParts['onProbed'] {
  return ({ name, version }, { verdict, reason }) => {
    const exact = isExact(verdict);
    const fields = { model: name, version, exact, verdict, reason };
    if (exact) logger.info(fields, 'stateful model probed for its streams');
    else logger.warn(fields, 'stateful model probed for its streams');
  };
}
