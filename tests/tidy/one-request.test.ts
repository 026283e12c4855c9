/** Holds the section "One request in ten files" of ARCHITECTURE.md to the code: the files exist and call one another in that order. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from './source-files.ts';

interface Step {
  readonly file: string;
  readonly definition: string;
}

/** Lines of the form: 3. `path/to/file.ts` `name`: what happens there. */
function stepsFrom(text: string): readonly Step[] {
  const section = /## One request in ten files\n([\s\S]*?)\n## /.exec(text)?.[1] ?? '';
  return [...section.matchAll(/^\d+\. `([^`]+)` `([^`]+)`/gm)].map(([, file, definition]) => ({
    file: file as string,
    definition: definition as string,
  }));
}

const steps = stepsFrom(readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8'));

test('the section names ten steps', () => {
  expect(steps).toHaveLength(10);
});

test.each(steps.map((step, index) => ({ ...step, index })))(
  'step $index defines $definition in $file',
  ({ file, definition }) => {
    const text = readFileSync(join(root, file), 'utf8');
    expect(text).toMatch(
      new RegExp(
        `(function|class|const|interface|type)\\s+${definition}\\b|^\\s+(async |static |private |#)?#?${definition}[(<]`,
        'm',
      ),
    );
  },
);

test.each(steps.slice(1).map((step, index) => ({ caller: steps[index] as Step, callee: step })))(
  '$caller.file hands over to $callee.definition',
  ({ caller, callee }) => {
    const text = readFileSync(join(root, caller.file), 'utf8');
    expect(text).toMatch(new RegExp(`\\b${callee.definition}\\b`));
  },
);
