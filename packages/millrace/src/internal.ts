/** The inner door: parts that benches and tests put together their own way. No promise of stability. */
export * from './assemble.ts';
export * from './fleet-watch.ts';
export { createLogger } from './logging/logger.ts';
export { modelDefaultsFrom } from './model-defaults.ts';
export { programs } from './programs.ts';
