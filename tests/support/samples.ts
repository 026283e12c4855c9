/** The files that users may send to the bundled models, and what the Python code of the zoo says about them. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { repositoryRoot } from './repository-root.ts';

interface SampleAnswers {
  readonly sentimentTokens: readonly { readonly text: string; readonly ids: readonly number[] }[];
  readonly storytellerTokens: readonly {
    readonly text: string;
    readonly ids: readonly number[];
    readonly decoded: string;
  }[];
  readonly stories: readonly { readonly prompt: string; readonly text: string }[];
  readonly shapes: readonly { readonly label: string; readonly box: readonly number[] }[];
}

const folder = join(repositoryRoot, 'zoo/samples');

export const sampleFile = (name: string): Uint8Array => readFileSync(join(folder, name));

export const sampleAnswers = JSON.parse(readFileSync(join(folder, 'answers.json'), 'utf8')) as SampleAnswers;
