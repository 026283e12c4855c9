/** The models of the stream benches: one that gives many outputs to an input, and one that gives each input back. */
import { cpSync, mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { chunkBytes, chunksModel, echoModel } from './stream-messages.ts';

const testModels = fileURLToPath(new URL('../../tests/models', import.meta.url));

/** Makes its outputs as the other servers make theirs, by `chunkData`. */
const chunksPipeline = `import { definePipeline } from 'millrace/pipeline';

export default definePipeline({
  inputs: { count: { datatype: 'INT32', shape: [1] } },
  outputs: { chunk: { datatype: 'UINT8', shape: [${chunkBytes}] } },
  async *run({ inputs }) {
    const count = inputs.count.data[0];
    for (let number = 0; number < count; number++) {
      const data = Buffer.alloc(${chunkBytes}, 7);
      data.writeUInt32LE(number, 0);
      yield { chunk: { data } };
    }
  },
});
`;

export function streamRepository(): string {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-streams-'));
  mkdirSync(join(folder, chunksModel, '1'), { recursive: true });
  writeFileSync(join(folder, chunksModel, '1/pipeline.mjs'), chunksPipeline);
  cpSync(join(testModels, echoModel), join(folder, echoModel), { recursive: true });
  return folder;
}
