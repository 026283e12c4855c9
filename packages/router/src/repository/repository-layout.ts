/**
 * Where models are: a repository is a folder of `NAME/VERSION/model.onnx` and of `NAME.onnx`, which is version 1 of NAME;
 * a single `.onnx` file is a model as well.
 */
import type { Stats } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { type ConfigProblem, messageFromFileError } from '@millrace/protocol';
import { modelNameProblem } from '../model/model-name.ts';
import { isVersionName } from '../model/version-name.ts';

/** Entries of one folder that are read; a folder with more is not a model repository. */
const folderEntriesMax = 100_000;
export const configFilename = 'config.pbtxt';
/** Of a version whose configuration names no other and whose kind has no file of its own. */
export const modelFilenameDefault = 'model.onnx';
const fileEnding = '.onnx';

/** A model that was found, not yet read. */
export interface ModelLocation {
  readonly name: string;
  /** The model's folder, or the file itself. */
  readonly path: string;
  readonly isSingleFile: boolean;
  readonly hasConfig: boolean;
  /** Names of the version folders; of a single file `1`. */
  readonly versions: readonly string[];
  /** A configuration in its JSON form that replaces the file. */
  readonly configText?: string;
}

export interface BrokenModel {
  readonly name: string;
  readonly problem: ConfigProblem;
}

export interface Layout {
  readonly locations: readonly ModelLocation[];
  /** Models that exist but cannot be opened. */
  readonly broken: readonly BrokenModel[];
  /** What is wrong with the repository itself. */
  readonly problems: readonly ConfigProblem[];
  readonly warnings: readonly ConfigProblem[];
}

/** Finds the models of one repository or file; reads names only. */
export async function findModels(givenPath: string): Promise<Layout> {
  const path = resolve(givenPath);
  let stats: Stats;
  try {
    stats = await stat(path);
  } catch (error) {
    return failed(path, `${messageFromFileError(error)}; give a folder of models or a .onnx file`);
  }
  if (path.endsWith(fileEnding)) return findSingleFile(path);
  if (!stats.isDirectory()) return failed(path, 'is neither a folder of models nor a .onnx file');
  return findInRepository(path);
}

/** Two spellings of one path give one path. */
export async function realPathOf(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch {
    return resolve(path);
  }
}

function findSingleFile(path: string): Layout {
  const found = singleFileLocation(path);
  if ('problem' in found) return failed(path, found.problem.message);
  return { locations: [found], broken: [], problems: [], warnings: [] };
}

function singleFileLocation(path: string): ModelLocation | BrokenModel {
  const name = basename(path, fileEnding);
  const problem = modelNameProblem(name);
  if (problem === undefined) return { name, path, isSingleFile: true, hasConfig: false, versions: ['1'] };
  return { name, problem: { source: path, message: `the model is named after its file: ${problem}` } };
}

async function findInRepository(path: string): Promise<Layout> {
  const locations: ModelLocation[] = [];
  const broken: BrokenModel[] = [];
  const warnings: ConfigProblem[] = [];
  let names: readonly string[];
  try {
    names = (await readdir(path)).sort();
  } catch (error) {
    return failed(path, messageFromFileError(error));
  }
  if (names.length > folderEntriesMax)
    return failed(path, `holds more than ${folderEntriesMax} entries; is it really a model repository?`);
  if (names.includes(configFilename) || (await isModelFolder(path, names))) {
    return failed(path, 'is a model, not a folder of models; give the folder above it');
  }
  for (const name of names) {
    // Hidden entries are other tools' (.git, .DS_Store).
    if (name.startsWith('.')) continue;
    const found = await inspect(join(path, name), name);
    if (found === undefined) continue;
    if ('versions' in found) locations.push(found);
    else if ('problem' in found) broken.push(found);
    else warnings.push(found);
  }
  if (locations.length === 0 && broken.length === 0) {
    warnings.push({ source: path, message: 'holds no models; put one at NAME/1/model.onnx or NAME.onnx' });
  }
  return { locations, broken, problems: [], warnings };
}

/** A folder whose own children are versions with a model in them is one level too deep. */
async function isModelFolder(path: string, names: readonly string[]): Promise<boolean> {
  for (const name of names.filter(isVersionName)) {
    const children = await readdir(join(path, name)).catch((): string[] => []);
    if (children.includes(modelFilenameDefault) && !children.some(isVersionName)) return true;
  }
  return false;
}

async function inspect(path: string, name: string): Promise<ModelLocation | BrokenModel | ConfigProblem | undefined> {
  const broken = (message: string): BrokenModel => ({ name, problem: { source: path, message } });
  let children: readonly string[];
  try {
    const stats = await stat(path);
    if (!stats.isDirectory()) return name.endsWith(fileEnding) ? singleFileLocation(path) : undefined;
    children = await readdir(path);
  } catch (error) {
    return broken(messageFromFileError(error));
  }
  if (children.length > folderEntriesMax)
    return broken(`holds more than ${folderEntriesMax} entries; is it really the folder of a model?`);
  const hasConfig = children.includes(configFilename);
  const versions: string[] = [];
  for (const child of children.filter(isVersionName)) {
    const isFolder = await stat(join(path, child)).then(
      (stats) => stats.isDirectory(),
      // A broken link is a version whose model is missing; that is reported when it is read.
      () => true,
    );
    if (isFolder) versions.push(child);
  }
  if (!hasConfig && versions.length === 0) {
    return { source: path, message: 'is not a model and is ignored; put a model at NAME/1/model.onnx or NAME.onnx' };
  }
  const problem = modelNameProblem(name);
  if (problem !== undefined) return broken(problem);
  return { name, path, isSingleFile: false, hasConfig, versions };
}

function failed(source: string, message: string): Layout {
  return { locations: [], broken: [], problems: [{ source, message }], warnings: [] };
}
