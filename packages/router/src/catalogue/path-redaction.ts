/** Removes the paths of this machine from texts for callers: they see which file is wrong, and only the log says where it is. */
import { realpathSync } from 'node:fs';
import { basename, dirname, extname, isAbsolute, resolve } from 'node:path';

export type PathRedaction = (text: string) => string;

/** A character that may come before or after a path without belonging to it. */
const before = '(?<![\\w/.:~-])(?:file://)?';
const partOfPath = '[^\\s/\'"`:;,()[\\]]';
/** Paths outside of the repositories: callers see only the file name. */
const elsewhere = new RegExp(`${before}/(?:${partOfPath}+/)+(${partOfPath}*)`, 'g');

/** Paths below these, which are model repositories and single files, are shown relative to them. */
export function pathRedactionFor(paths: readonly string[]): PathRedaction {
  const roots = [...new Set(paths.flatMap(rootsOf))].sort((left, right) => right.length - left.length);
  const inside = new RegExp(`${before}(${roots.map(escaped).join('|')})(?:(/)|(?![\\w.-]))`, 'g');
  return (text) => {
    const shown = roots.length === 0 ? text : text.replace(inside, (_, root, slash) => (slash ? '' : basename(root)));
    return shown.replace(elsewhere, '…/$1');
  };
}

/** The path as given and its real path: messages contain the one or the other. */
function rootsOf(path: string): readonly string[] {
  const folder = extname(path) === '.onnx' ? dirname(path) : path;
  const roots = [resolve(folder)];
  try {
    roots.push(realpathSync(folder));
  } catch {
    // A missing repository is reported when it is read.
  }
  return roots.filter((root) => isAbsolute(root) && root !== '/');
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
