/** Tells whether files changed without reading them: by their names, sizes, times and inodes. */
import type { Stats } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { ModelLocation } from '../../repository/repository-layout.ts';

/** Files of one model that are compared; changes of files beyond them are not seen. */
const filesMax = 100_000;
/** How deep folders inside a version are read. */
const depthMax = 16;

export interface FileFingerprint {
  /** Equal exactly while nothing changed. */
  readonly text: string;
  readonly bytes: number;
}

/** The fingerprint of a model's folder, separate for each version, so that a change of one does not affect the others. */
export interface ModelFingerprint {
  /** Of all of it. */
  readonly text: string;
  /** By version. */
  readonly versions: ReadonlyMap<string, FileFingerprint>;
}

export async function fingerprintOf(location: ModelLocation): Promise<ModelFingerprint> {
  if (location.isSingleFile) {
    const fingerprint = await fingerprintOfLooseFile(location);
    return { text: fingerprint.text, versions: new Map([['1', fingerprint]]) };
  }
  const versions = new Map<string, FileFingerprint>();
  for (const version of location.versions) versions.set(version, await fingerprintOfVersion(location, version));
  const others: string[] = [];
  for (const name of await namesIn(location.path)) {
    if (!versions.has(name)) others.push(`${name}=${(await fingerprintOfTree(join(location.path, name), 0)).text}`);
  }
  const all = [...versions].map(([version, { text }]) => `${version}={${text}}`);
  return { text: [...all, ...others].join(';'), versions };
}

/** The same for the files of one version, without a look at the others. */
export function fingerprintOfVersion(location: ModelLocation, version: string): Promise<FileFingerprint> {
  if (location.isSingleFile) return fingerprintOfLooseFile(location);
  return fingerprintOfTree(join(location.path, version), depthMax);
}

/** Of all files below a folder. */
export async function fingerprintOfFolder(path: string): Promise<string> {
  return (await fingerprintOfTree(path, depthMax)).text;
}

/** With the files beside it that may hold its weights: exporters name them after it (`m.onnx.data`, `m.data`, `m.onnx_data`). */
async function fingerprintOfLooseFile({ name, path }: ModelLocation): Promise<FileFingerprint> {
  const folder = dirname(path);
  const fingerprint = await fingerprintOfTree(path, depthMax);
  const parts = [fingerprint.text];
  let { bytes } = fingerprint;
  for (const neighbour of await namesIn(folder)) {
    if (!neighbour.startsWith(`${name}.`) || neighbour.endsWith('.onnx')) continue;
    const { text, bytes: more } = await fingerprintOfTree(join(folder, neighbour), 0);
    parts.push(`${neighbour}=${text}`);
    bytes += more;
  }
  return { text: parts.join(';'), bytes };
}

async function fingerprintOfTree(path: string, depth: number, budget = { files: filesMax }): Promise<FileFingerprint> {
  let stats: Stats;
  try {
    stats = await stat(path);
  } catch {
    return { text: 'absent', bytes: 0 };
  }
  if (!stats.isDirectory()) return { text: fingerprintOfFile(stats), bytes: stats.size };
  if (depth === 0) return { text: 'folder', bytes: 0 };
  const parts: string[] = [];
  let bytes = 0;
  for (const name of await namesIn(path)) {
    if (budget.files === 0) break;
    budget.files -= 1;
    const fingerprint = await fingerprintOfTree(join(path, name), depth - 1, budget);
    parts.push(`${name}=${fingerprint.text}`);
    bytes += fingerprint.bytes;
  }
  return { text: `{${parts.join(';')}}`, bytes };
}

function fingerprintOfFile({ size, mtimeMs, ino }: Stats): string {
  return `${size}/${mtimeMs}/${ino}`;
}

async function namesIn(path: string): Promise<readonly string[]> {
  const names = await readdir(path).catch((): string[] => []);
  return names.sort();
}
