import type { EngineName } from '@millrace/protocol';
import type { Engine } from './engine.ts';

/** An engine that is imported with the first model that it loads, so that a process without models does not load its libraries. */
export function lazyEngine(name: EngineName, importEngine: () => Promise<Engine>): Engine {
  return {
    name,
    async load(spec) {
      let engine: Engine;
      try {
        engine = await importEngine();
      } catch (error) {
        const title = `model "${spec.name}" version ${spec.version} could not be loaded`;
        const reason = error instanceof Error ? error.message.trim() : String(error);
        const advice = 'install the packages of the server again, on the system that it runs on';
        throw new Error(`${title}: the engine "${name}" cannot be imported (${reason}); ${advice}`, { cause: error });
      }
      return engine.load(spec);
    },
  };
}
