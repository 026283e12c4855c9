/** The process of `RowAnalyst`: answers one question after the other, and exits with its parent. */
import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { analyseRowsOfFile, notAnalysed } from './analyse-rows.ts';
import type { RowVerdict } from './row-verdict.ts';

export interface AnalystQuestion {
  readonly kind: 'digest' | 'analyse';
  readonly path: string;
}

/** The digest, or the verdict. */
export type AnalystAnswer = string | RowVerdict;

const chunkBytes = 1024 * 1024;

/** The title in process lists. */
process.title = 'millrace-analyst';

process.on('message', ({ kind, path }: AnalystQuestion) => {
  const answer: Promise<AnalystAnswer> = kind === 'digest' ? digestOf(path) : analyseRowsOfFile(path);
  void answer.catch(notAnalysed).then((said) => process.send?.(said));
});
process.on('disconnect', () => process.exit());

async function digestOf(path: string): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path, { highWaterMark: chunkBytes })) hash.update(chunk as Uint8Array);
  return hash.digest('hex');
}
