/** Tells whether files changed without reading them: by their names, sizes, times and inodes. */
import type { Stats } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ModelPlace } from '../repository/repository-layout.ts';

/** Files of one model that are looked at; more make one that is not told apart beyond them. */
const filesMax = 100_000;
/** How deep folders inside a version are looked into. */
const depthMax = 16;

export interface FilePrint {
  /** Equal exactly while nothing changed. */
  readonly text: string;
  readonly bytes: number;
}

/** What a model's folder holds, apart for each version, so that a change of one does not touch the others. */
export interface ModelPrint {
  /** Of all of it. */
  readonly text: string;
  /** By version. */
  readonly versions: ReadonlyMap<string, FilePrint>;
}

export async function printOf(place: ModelPlace): Promise<ModelPrint> {
  if (place.isSingleFile) {
    const print = await printOfLooseFile(place);
    return { text: print.text, versions: new Map([['1', print]]) };
  }
  const versions = new Map<string, FilePrint>();
  for (const version of place.versions) versions.set(version, await printOfTree(join(place.path, version), depthMax));
  const others: string[] = [];
  for (const name of await namesIn(place.path)) {
    if (!versions.has(name)) others.push(`${name}=${(await printOfTree(join(place.path, name), 0)).text}`);
  }
  const all = [...versions].map(([version, { text }]) => `${version}={${text}}`);
  return { text: [...all, ...others].join(';'), versions };
}

/** With the files beside it that may hold its weights: exporters name them after it (`m.onnx.data`, `m.data`, `m.onnx_data`). */
async function printOfLooseFile({ name, path }: ModelPlace): Promise<FilePrint> {
  const folder = dirname(path);
  const print = await printOfTree(path, depthMax);
  const parts = [print.text];
  let { bytes } = print;
  for (const neighbour of await namesIn(folder)) {
    if (!neighbour.startsWith(`${name}.`) || neighbour.endsWith('.onnx')) continue;
    const { text, bytes: more } = await printOfTree(join(folder, neighbour), 0);
    parts.push(`${neighbour}=${text}`);
    bytes += more;
  }
  return { text: parts.join(';'), bytes };
}

async function printOfTree(path: string, depth: number, budget = { files: filesMax }): Promise<FilePrint> {
  let stats: Stats;
  try {
    stats = await stat(path);
  } catch {
    return { text: 'absent', bytes: 0 };
  }
  if (!stats.isDirectory()) return { text: printOfFile(stats), bytes: stats.size };
  if (depth === 0) return { text: 'folder', bytes: 0 };
  const parts: string[] = [];
  let bytes = 0;
  for (const name of await namesIn(path)) {
    if (budget.files === 0) break;
    budget.files -= 1;
    const print = await printOfTree(join(path, name), depth - 1, budget);
    parts.push(`${name}=${print.text}`);
    bytes += print.bytes;
  }
  return { text: `{${parts.join(';')}}`, bytes };
}

function printOfFile({ size, mtimeMs, ino }: Stats): string {
  return `${size}/${mtimeMs}/${ino}`;
}

async function namesIn(path: string): Promise<readonly string[]> {
  const names = await readdir(path).catch((): string[] => []);
  return names.sort();
}
