/** The models that the contract of the client needs, and what it asks their server. */
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { type ModelRepository, writeStorytellerFolder } from '@millrace/worker/testing';
import { repositoryRoot } from '../../support/repository-root.ts';
import { writeRunningTotal } from '../../support/running-total.ts';
import type { ServerProcess } from '../../support/server-process.ts';

export async function writeClientModels(repository: ModelRepository): Promise<void> {
  writeRunningTotal(repository);
  await writeStorytellerFolder(join(repository.path, 'story/1'));
  for (const model of ['identity_fp32', 'identity_bytes', 'identity_int64', 'identity_bool', 'slow']) {
    cpSync(join(repositoryRoot, 'tests/models', model), join(repository.path, model), { recursive: true });
  }
}

export function cancelledStreams(server: ServerProcess): Promise<number> {
  return server.metric('millrace_streams_ended_total', { outcome: 'cancelled', code: 'cancelled' });
}
