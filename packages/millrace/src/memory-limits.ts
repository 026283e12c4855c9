import { type MemoryLimits, resolveMemoryLimits } from '@millrace/core';
import type { Config } from './config/fields.ts';

/** How the memory for requests is divided. Throws a `ConfigError` where the largest body would not fit. */
export function memoryLimitsOf({ memory, http }: Pick<Config, 'memory' | 'http'>): MemoryLimits {
  return resolveMemoryLimits({ bytesMax: memory.bytesMax, bodyBytesMax: http.bodyBytesMax });
}
