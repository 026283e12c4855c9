/** Internal entry point: parts for benches and tests of this repository. Not a stable API. */
export * from './assemble.ts';
export { ChaosProxy } from './chaos/chaos-proxy.ts';
export { processorGrant } from './event-loop-polling.ts';
export * from './fleet-watch.ts';
export { createLogger } from './logging/logger.ts';
export { modelDefaultsFrom } from './model-defaults.ts';
export { programs } from './programs.ts';
export { generatorEnvironment } from './worker-environment.ts';
