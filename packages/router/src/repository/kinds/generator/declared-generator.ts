import type { ModelConfig } from '../../config-text/model-config-schema.ts';

export const generatorPlatformName = 'millrace_generator';
export const generatorBackendName = 'generator';

/** The configuration says that the model is a generator; others are recognised by their files. */
export function isDeclaredGenerator({ backend, platform }: ModelConfig): boolean {
  return backend === generatorBackendName || platform === generatorPlatformName;
}
