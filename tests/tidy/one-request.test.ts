/** Holds the section "One request in ten files" of ARCHITECTURE.md to the code: the files exist and call one another as it says. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { root } from './source-files.ts';

interface Step {
  readonly number: number;
  readonly file: string;
  readonly definition: string;
  /** The number of the step that calls it; undefined for the first. */
  readonly caller: number | undefined;
  /** The file that states the seam between them, or the socket: the caller then knows an interface, not the definition. */
  readonly across: string | undefined;
}

/** Lines of the form: 3. `path/to/file.ts` `name` (2, by the seam `infer.ts`): what happens there. */
function stepsFrom(text: string): readonly Step[] {
  const section = /## One request in ten files\n([\s\S]*?)\n## /.exec(text)?.[1] ?? '';
  const line = /^(\d+)\. `([^`]+)` `([^`]+)`(?: \((\d+)(?:, (?:by the seam `([^`]+)`|over the (socket)))?\))?:/gm;
  return [...section.matchAll(line)].map(([, number, file, definition, caller, seam, socket]) => ({
    number: Number(number),
    file: file as string,
    definition: definition as string,
    caller: caller === undefined ? undefined : Number(caller),
    across: seam ?? socket,
  }));
}

const steps = stepsFrom(readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8'));
const textOf = (step: Step): string => readFileSync(join(root, step.file), 'utf8');
const stepOf = (number: number): Step => steps[number - 1] as Step;

test('the section names ten steps in order, each but the first called by an earlier one', () => {
  expect(steps.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  expect(steps.filter(({ caller }) => caller === undefined).map(({ number }) => number)).toEqual([1]);
  for (const { number, caller } of steps.slice(1)) expect(caller).toBeLessThan(number);
});

test.each(steps)('step $number: $file defines $definition', (step) => {
  expect(textOf(step)).toMatch(new RegExp(`^export (async )?(function|class|const) ${step.definition}\\b`, 'm'));
});

test.each(steps.filter(({ caller, across }) => caller !== undefined && across === undefined))(
  'step $number: $definition is called by step $caller',
  ({ definition, caller }) => {
    expect(textOf(stepOf(caller as number))).toMatch(
      new RegExp(`\\b${definition}\\b[(.]|new ${definition}\\b|[:<] ?${definition}\\b`),
    );
  },
);

test.each(steps.filter(({ across }) => across?.endsWith('.ts')))(
  'step $number: step $caller knows the seam $across and $definition stands behind it',
  (step) => {
    const seam = (step.across as string).replace('.ts', '');
    const callerText = textOf(stepOf(step.caller as number));
    const interfaces = [...textOf(step).matchAll(/implements (\w+)/g)].map(([, name]) => name as string);
    expect(interfaces.length).toBeGreaterThan(0);
    expect(interfaces.some((name) => callerText.includes(name))).toBe(true);
    expect(callerText.includes(seam) || textOf(step).includes('@millrace/protocol')).toBe(true);
  },
);
