/** A program that loads the pipeline at a given path and writes its declaration as JSON to descriptor 3. */
import { readFileSync, writeSync } from 'node:fs';
import { confineChild } from '@millrace/shared-memory';
import { declarationOf } from './declaration.ts';
import { loadPipelineModule } from './load-module.ts';
import { reasonOf } from './user-error.ts';

confineChild();

const answerDescriptor = 3;
const path = readFileSync(0, 'utf8');

let answer: object;
try {
  answer = { declaration: declarationOf(await loadPipelineModule(path)) };
} catch (error) {
  answer = { problem: reasonOf(error, path) };
}
writeSync(answerDescriptor, JSON.stringify(answer));
// A module may have opened handles that would keep the process alive.
process.exit(0);
