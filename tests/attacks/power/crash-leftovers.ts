import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ModelRepository } from '@millrace/worker/testing';
import { ServerProcess } from '../../support/server-process.ts';
import type { Attack } from '../attack.ts';
import { addAttackModels, doubleModel } from '../attack-models.ts';

export const crashLeftovers: Attack = {
  name: 'crash-leftovers',
  row: 'A server that is killed leaves temporary folders and sockets behind, more with every crash.',
  expected: 'harmless',
  establishedMin: 0,
  isAlone: true,
  isFinite: true,
  run: async (target) => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-crashes-'));
    const models = new ModelRepository();
    addAttackModels(models);
    process.env.TMPDIR = folder;
    const model = readFileSync(join(models.path, doubleModel, '1/model.onnx')).toString('base64');
    const override = { config: '{"backend":"onnxruntime"}', 'file:1/model.onnx': model };
    // Files of overrides lie in a temporary folder; a server that was killed cannot remove it, so the next one must.
    const crash = async (): Promise<readonly string[]> => {
      const server = await ServerProcess.start([models.path, '--model-control-mode', 'explicit']);
      const atStart = readdirSync(folder);
      const loaded = await fetch(`${server.url}/v2/repository/models/overridden/load`, {
        method: 'POST',
        body: JSON.stringify({ parameters: override }),
      });
      if (!loaded.ok) target.fate.harm(`the load was refused: ${await loaded.text()}`);
      server.child.kill('SIGKILL');
      await server.exit;
      return atStart;
    };
    const first = await crash();
    await crash();
    const third = await crash();
    if (third.length > first.length) {
      target.fate.harm(`after two crashes the temporary folder has ${third.join(', ')}; at first ${first.join(', ')}`);
    }
    models.remove();
    rmSync(folder, { recursive: true, force: true });
  },
};
