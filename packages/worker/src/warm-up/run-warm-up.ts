import type { LoadSpec } from '@millrace/protocol';
import type { Session } from '../engine.ts';
import { sampleTensors } from './sample-tensors.ts';
import { warmUpMemory } from './warm-up-memory.ts';

/**
 * Runs the warm-up samples of a model, one after the other, so that the one-time work of an engine for a shape is done
 * before the first request. Rejects with the name of the sample that failed and the reason.
 */
export async function runWarmUp(session: Session, spec: LoadSpec): Promise<void> {
  const outputs = spec.outputs.map((_, index) => index);
  for (const sample of spec.warmup ?? []) {
    try {
      const inputs = await sampleTensors(sample, spec);
      for (let run = 0; run < sample.runs; run++) {
        const memory = warmUpMemory();
        memory.take((await session.run({ inputs, outputs, memory })).outputs).release();
      }
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new Error(
        `model "${spec.name}" version ${spec.version} failed its warm-up "${sample.name}": ${reason}; ` +
          'correct the sample in model_warmup, or the model',
      );
    }
  }
}
