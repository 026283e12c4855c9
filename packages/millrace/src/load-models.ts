/** Loads all models of paths once, as a server would, and ends again. */
import { createEngine } from './engine.ts';

export interface FailedLoad {
  readonly name: string;
  readonly version: string;
  readonly reason: string;
}

/** Resolves with those that cannot be read or loaded. */
export async function loadModels(paths: readonly string[]): Promise<readonly FailedLoad[]> {
  const engine = await createEngine({ models: [...paths], allowFailures: true });
  const failed = engine.failures();
  await engine.close();
  return failed;
}
