import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { ModelRepository } from '@millrace/worker/testing';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { repositoryRoot } from '../support/repository-root.ts';
import { ServerProcess } from '../support/server-process.ts';

const millrace = join(repositoryRoot, 'packages/millrace/bin/millrace.js');
let models: ModelRepository;

beforeEach(() => {
  models = new ModelRepository();
});
afterEach(() => models.remove());

test.each(['none', 'poll', 'explicit'])(
  'Triton: a server with an empty repository is ready in mode %s',
  async (mode) => {
    const server = await ServerProcess.start([models.path, '--model-control-mode', mode]);
    try {
      expect((await fetch(`${server.url}/v2/health/ready`)).status).toBe(200);
      const index = await fetch(`${server.url}/v2/repository/index`, { method: 'POST' });
      expect([index.status, await index.json()]).toEqual([200, []]);
      expect((await fetch(`${server.url}/v2/models/m`)).status).toBe(404);
      // In explicit mode an empty repository is an ordinary beginning.
      const warnings = server.records.filter(({ level }) => level === 'warn').map(({ message }) => message);
      expect(warnings).toEqual(
        mode === 'explicit' ? [] : ['holds no models; put one at NAME/1/model.onnx or NAME.onnx'],
      );
    } finally {
      expect(await server.stop()).toBe(0);
    }
  },
);

test('a repository that does not exist is an error', () => {
  const { status, stderr } = spawnSync(process.execPath, [millrace, 'serve', join(models.path, 'absent')], {
    encoding: 'utf8',
  });
  expect(status).toBe(2);
  expect(stderr).toContain('absent');
});
