import type { Engine } from '../engine.ts';

/**
 * An engine that has an output of its first input's size written in place, or not: zeros come out as whatever lay in the memory. What an
 * engine must never do, for tests of what becomes of it.
 */
export const silentEngine: Engine = {
  name: 'onnxruntime',
  load: async () => ({
    async run({ inputs, outputs, memory }) {
      const { shape, data: given } = inputs[0] ?? { shape: [], data: new Uint8Array(0) };
      const parts = memory.layOut(outputs.map(() => given.length));
      if (given.some((byte) => byte !== 0)) for (const part of parts) part.set(given);
      return { outputs: parts.map((data, part) => ({ index: outputs[part] as number, shape, data })) };
    },
    unload: async () => {},
  }),
};
