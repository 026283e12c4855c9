/** The section "The ways" of ARCHITECTURE.md: the files that an event meets, in order. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './source-files.ts';

/** `4. \`path/to/file.ts\` (2, by the seam \`infer.ts\`): what it does there.` */
export interface Step {
  readonly number: number;
  readonly file: string;
  /** The step of the same way that knows it; undefined for the first. */
  readonly caller: number | undefined;
  /** The name of the file that both know where neither knows the other; empty where they are in different processes. */
  readonly by: string | undefined;
  /** Whether that file is a seam. */
  readonly isSeam: boolean;
}

/** `steps 1, 2 and 5 to 12 of *Another way*`. */
export interface Stretch {
  readonly numbers: readonly number[];
  readonly way: string;
}

export interface Way {
  readonly title: string;
  readonly steps: readonly Step[];
  /** The parts of other ways that it takes too. */
  readonly stretches: readonly Stretch[];
}

export interface WrittenWays {
  readonly ways: readonly Way[];
  /** Files and, with a slash at the end, folders that serve every way. */
  readonly beside: readonly string[];
  /** Those of them that a timer may run during any way, steps of other ways included. */
  readonly atAnyTime: readonly string[];
}

const stepPattern =
  /^(\d+)\. `([^`]+)`(?: \((\d+)(?:, (?:by (the seam )?`([^`]+)`|over the (socket)|in its own (process)))?\))?: \S/gm;
const stretchPattern = /\bsteps ([\d, ]+(?:(?:and|to) [\d, ]+)*)of \*([^*]+)\*/g;

export function readWays(text: string = readFileSync(join(root, 'ARCHITECTURE.md'), 'utf8')): WrittenWays {
  const section = /\n## The ways\n([\s\S]*?)\n## /.exec(text)?.[1] ?? '';
  const [, ...parts] = section.split('\n### ');
  const titled = parts.map((part) => [part.slice(0, part.indexOf('\n')), part] as const);
  const ways = titled.filter(([title]) => title !== 'Beside every way').map(([title, part]) => wayFrom(title, part));
  const beside = titled.find(([title]) => title === 'Beside every way')?.[1] ?? '';
  const atAnyTime = beside.split('\n').filter((line) => line.startsWith('| at any time'));
  return { ways, beside: pathsIn(beside), atAnyTime: pathsIn(atAnyTime.join('\n')) };
}

function wayFrom(title: string, part: string): Way {
  const steps = [...part.matchAll(stepPattern)].map(([, number, file, caller, seam, by, socket, process]) => ({
    number: Number(number),
    file: file as string,
    caller: caller === undefined ? undefined : Number(caller),
    by: socket === undefined && process === undefined ? by : '',
    isSeam: seam !== undefined,
  }));
  const stretches = [...part.matchAll(stretchPattern)].map(([, numbers, way]) => ({
    numbers: numbersFrom(numbers as string),
    way: way as string,
  }));
  return { title, steps, stretches };
}

/** `1, 2 and 5 to 7` is 1, 2, 5, 6, 7. */
function numbersFrom(text: string): readonly number[] {
  return text.split(/,|and/).flatMap((range) => {
    const [first = 0, last = first] = range.split('to').map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
}

/** The paths that a text names: `a/{b,c}.ts` is a/b.ts and a/c.ts. */
export function pathsIn(text: string): readonly string[] {
  return [...text.matchAll(/`((?:packages|tests|docs|bench|proto|models|zoo)\/[^`\s]*)`/g)].flatMap(([, path]) =>
    expanded(path as string),
  );
}

function expanded(path: string): readonly string[] {
  const [, head, choices, tail] = /^(.*)\{(.+)\}(.*)$/.exec(path) ?? [];
  return choices === undefined ? [path] : choices.split(',').map((choice) => `${head}${choice}${tail}`);
}
