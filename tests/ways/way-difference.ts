/** Holds a written way against the files that ran, and says what to change in ARCHITECTURE.md. */
import type { ImportGraph } from '../tidy/import-graph.ts';
import type { Way, WrittenWays } from '../tidy/written-ways.ts';

/** Source files from the root, and the functions of each that were called. */
export type CalledFiles = ReadonlyMap<string, ReadonlySet<string>>;

/** Empty where they agree. */
export function wayDifference(written: WrittenWays, title: string, called: CalledFiles, graph: ImportGraph): string {
  const way = written.ways.find((one) => one.title === title);
  if (way === undefined) return `ARCHITECTURE.md has no way "${title}" below "The ways"`;
  const listed = filesWithStretches(written, way);
  const unlisted = [...called.keys()].filter((file) => !listed.has(file) && !isBeside(written, file));
  const unmet = [...listed].filter(([file]) => !called.has(file));
  const lines: string[] = [];
  if (unlisted.length > 0) {
    lines.push(`Files of the way "${title}" that it does not name. Add each behind the step in its brackets,`);
    lines.push('or name it in "Beside every way" if it only serves the files that call it:');
    for (const file of unlisted)
      lines.push(`N. \`${file}\`${callerOf(way, file, graph)}: ${[...(called.get(file) ?? [])].join(' ')}.`);
  }
  if (unmet.length > 0) {
    lines.push(`Files that the way "${title}" names, and of which no function was called. Remove:`);
    for (const [file, place] of unmet) lines.push(`${place}. \`${file}\``);
  }
  return lines.join('\n');
}

/** Every file of the way with its place: its own number, or that in the way where the stretch is written. */
function filesWithStretches(written: WrittenWays, way: Way): ReadonlyMap<string, string> {
  const files = new Map(way.steps.map(({ file, number }) => [file, String(number)]));
  for (const { numbers, way: title } of way.stretches) {
    const steps = written.ways.find((one) => one.title === title)?.steps ?? [];
    for (const { number, file } of steps) if (numbers.includes(number)) files.set(file, `${number} of *${title}*`);
  }
  return files;
}

export function isBeside({ beside }: WrittenWays, file: string): boolean {
  return beside.some((one) => (one.endsWith('/') ? file.startsWith(one) : file === one));
}

function callerOf({ steps }: Way, file: string, graph: ImportGraph): string {
  const caller = steps.find((step) => graph.imports(step.file, file));
  return caller === undefined ? ' (?)' : ` (${caller.number})`;
}
