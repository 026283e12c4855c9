/** The entry point for programs that run models in their own process. Importing it loads no engine. */
import type { Engine } from './engine.ts';
import { lazyEngine } from './lazy-engine.ts';

export { createInlineLane, type InlineLaneOptions } from './inline-lane.ts';

/** The engines that may share a process with a router: those that run no user code. */
export const inlineEngines: readonly Engine[] = [
  lazyEngine('onnxruntime', async () => (await import('./onnxruntime/onnxruntime-engine.ts')).onnxruntimeEngine),
];
