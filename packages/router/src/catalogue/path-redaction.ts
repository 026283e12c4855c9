/** What callers are told of models: what is wrong with which file, and not where on this machine it lies. The log has that. */
import { realpathSync } from 'node:fs';
import { basename, dirname, extname, isAbsolute, resolve } from 'node:path';

export type PathRedaction = (text: string) => string;

/** A character that may stand before or after a path without belonging to it. */
const before = '(?<![\\w/.:~-])(?:file://)?';
const partOfPath = '[^\\s/\'"`:;,()[\\]]';
/** Whatever lies outside of the repositories: of that, callers need the name at most. */
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

/** As it was given, and as the system knows it: messages have the one or the other. */
function rootsOf(path: string): readonly string[] {
  const folder = extname(path) === '.onnx' ? dirname(path) : path;
  const roots = [resolve(folder)];
  try {
    roots.push(realpathSync(folder));
  } catch {
    // One that is not there is told of by whoever reads it.
  }
  return roots.filter((root) => isAbsolute(root) && root !== '/');
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
