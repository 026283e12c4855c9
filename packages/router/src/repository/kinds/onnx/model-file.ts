import { constants } from 'node:fs';
import { access, readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { OnnxFileError, type OnnxGraph, readOnnxFile, type ZipMap } from '@millrace/onnx';
import { messageFromFileError } from '@millrace/protocol';
import { staysInside } from '../../label-file.ts';
import { modelFilenameDefault } from '../../repository-layout.ts';
import { graphWithScores, zipMapsOf } from './zip-maps.ts';

export interface ModelFile {
  readonly path: string;
  readonly externalPaths: readonly string[];
  /** As workers load it, without ZipMaps. */
  readonly graph: OnnxGraph;
  readonly zipMaps: readonly ZipMap[];
}

/** The model file that was found, or why it cannot be used; `path` is where the problem is. */
export type ModelFileResult = ModelFile | { readonly path: string; readonly problem: string };

/** Reads the model file at `path`; a folder of that name holds the file of the same name, beside its weights. */
export async function readModelFile(path: string): Promise<ModelFileResult> {
  let file = path;
  try {
    if ((await stat(file)).isDirectory()) {
      file = join(path, modelFilenameDefault);
      await stat(file);
    }
    const graph = await readOnnxFile(file);
    return await withWeights(file, graph, await zipMapsOf(file, graph));
  } catch (error) {
    if (error instanceof OnnxFileError) return { path: file, problem: `cannot be read: ${error.message}` };
    return { path: file, problem: `${messageFromFileError(error)}${await neighbours(file, error)}` };
  }
}

async function withWeights(path: string, graph: OnnxGraph, zipMaps: readonly ZipMap[]): Promise<ModelFileResult> {
  const externalPaths: string[] = [];
  for (const name of graph.externalFiles) {
    if (!staysInside(name)) {
      return { path, problem: `keeps weights in ${JSON.stringify(name)}, outside of its own folder; export it again` };
    }
    const weights = join(dirname(path), name);
    try {
      await access(weights, constants.R_OK);
    } catch (error) {
      return { path, problem: `keeps weights in ${JSON.stringify(name)}, which ${messageFromFileError(error)}` };
    }
    externalPaths.push(weights);
  }
  return { path, externalPaths, graph: graphWithScores(graph, zipMaps), zipMaps };
}

const neighboursShownMax = 3;

/** Lists what the folder holds instead, for files with another name, of another kind, or one folder further down. */
async function neighbours(path: string, error: unknown): Promise<string> {
  if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) return '';
  const folder = dirname(path);
  const names = (await readdir(folder).catch((): string[] => [])).sort();
  if (names.length === 0) return '';
  const shown = names.slice(0, neighboursShownMax).join(', ');
  const more = names.length > neighboursShownMax ? ', …' : '';
  return `; its folder holds ${shown}${more}: ${await adviceFor(folder, names)}`;
}

async function adviceFor(folder: string, names: readonly string[]): Promise<string> {
  if (names.some(isOnnxName)) return 'set default_model_filename in config.pbtxt';
  for (const name of names) {
    const inside = await readdir(join(folder, name)).catch((): string[] => []);
    const file = inside.sort().find(isOnnxName);
    if (file !== undefined) return `move ${join(name, file)} here, with the files of its weights`;
  }
  return 'only ONNX models are served yet';
}

function isOnnxName(name: string): boolean {
  return name.endsWith('.onnx');
}
