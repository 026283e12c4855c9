import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ModelRepository } from '@millrace/worker/testing';
import { ServerProcess } from '../../support/server-process.ts';
import type { Attack } from '../attack.ts';
import { addAttackModels } from '../attack-models.ts';

export const crashLeftovers: Attack = {
  name: 'crash-leftovers',
  row: 'A server that is killed leaves temporary folders and sockets behind, more with every crash.',
  expected: 'harmless',
  placedMin: 0,
  isAlone: true,
  isFinite: true,
  run: async (target) => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-crashes-'));
    const models = new ModelRepository();
    addAttackModels(models);
    process.env.TMPDIR = folder;
    const crash = async (): Promise<number> => {
      const server = await ServerProcess.start([models.path]);
      const during = readdirSync(folder).length;
      server.child.kill('SIGKILL');
      await server.exit;
      return during;
    };
    const first = await crash();
    await crash();
    const third = await crash();
    if (third > first)
      target.fate.harm(`${first} entries in the temporary folder at first, ${third} after two crashes`);
    models.remove();
    rmSync(folder, { recursive: true, force: true });
  },
};
