/** `node tests/dist/chaos/move.js [--swaps 100] [--moves 1000] [--callers 64]`: versions and labels move under load. Prints a verdict. */
import { parseArgs } from 'node:util';
import { ModelRepository } from '@millrace/worker/testing';
import { ServerProcess } from '../support/server-process.ts';
import { moveUnderLoad, watchOptions, writeModels } from './move-versions.ts';

const { values } = parseArgs({
  options: {
    swaps: { type: 'string', default: '100' },
    moves: { type: 'string', default: '1000' },
    callers: { type: 'string', default: '64' },
  },
});
const models = new ModelRepository();
writeModels(models);
const server = await ServerProcess.start([models.path, ...watchOptions]);
const options = { swaps: Number(values.swaps), moves: Number(values.moves), callers: Number(values.callers) };
const report = await moveUnderLoad(server, models, options);
const code = await server.stop();
models.remove();
for (const failure of report.failures) console.log(failure);
console.log(
  `${options.swaps} versions swapped and ${options.moves} labels moved under ${options.callers} callers, REST and gRPC: ` +
    `${report.answered} requests answered rightly by ${report.versionsSeen} versions, ${report.failures.length} failed, exit code ${code}`,
);
const isGood = report.failures.length === 0 && code === 0;
console.log(isGood ? '1 passed, 0 failed' : '0 passed, 1 failed');
process.exitCode = isGood ? 0 : 1;
