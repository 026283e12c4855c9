// The licences of the packages from elsewhere that a bundle contains.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** They ask for nothing but their text beside copies of the code. */
const allowed = ['MIT', 'ISC', '(Apache-2.0 AND BSD-3-Clause)'];

/**
 * The text of a file with a section for each package. Throws for a package whose licence is not among those allowed, and
 * for one without the text of its licence.
 * @param {{ outputs: Record<string, { inputs: Record<string, unknown> }> }} metafile that esbuild made of the bundle
 */
export function licencesOf({ outputs }) {
  const filesByFolder = new Map();
  for (const file of Object.values(outputs).flatMap(({ inputs }) => Object.keys(inputs))) {
    const folder = /^.*node_modules\/(@[^/]+\/)?[^/]+/.exec(file)?.[0];
    if (folder !== undefined) filesByFolder.set(folder, [...(filesByFolder.get(folder) ?? []), file]);
  }
  const folders = [...filesByFolder.keys()].toSorted((one, other) => one.localeCompare(other));
  return folders.map((folder) => sectionOf(folder, filesByFolder.get(folder))).join('\n');
}

function sectionOf(folder, files) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  if (!allowed.includes(license)) {
    throw new Error(`${name} ${version} has the licence ${license}; bundle.mjs may bundle ${allowed.join(', ')}`);
  }
  const text = takeLicenceFile(folder) ?? noticesOf(files);
  if (text === '') throw new Error(`${name} ${version} has no text of its licence, which a bundle has to contain`);
  return `${name} ${version}: ${license}\n\n${text.trim()}\n`;
}

function takeLicenceFile(folder) {
  const file = readdirSync(folder).find((name) => /^licen[cs]e(\.|$)/i.test(name));
  return file === undefined ? undefined : readFileSync(join(folder, file), 'utf8');
}

/** Comments about copyright at the beginning of files, each once. */
function noticesOf(files) {
  const comments = files.map((file) => /^(\/\/.*\n)+/.exec(readFileSync(file, 'utf8'))?.[0] ?? '');
  const notices = new Set(comments.filter((comment) => comment.includes('Copyright')));
  return [...notices].map((notice) => notice.replaceAll(/^\/\/ ?/gm, '')).join('\n');
}
