import { readFile, stat } from 'node:fs/promises';
import { isAbsolute, join, normalize } from 'node:path';
import { messageFromFileError } from '@millrace/protocol';
import type { Findings } from './config-text/findings.ts';
import type { ModelConfig } from './config-text/model-config-schema.ts';

export const labelFileBytesMax = 16 * 1024 * 1024;
const labelsMax = 1_000_000;

export type Labels = { readonly labels: readonly string[] } | { readonly problem: string };

/** Whether a path of a configuration stays inside the folder it is relative to. */
export function staysInside(path: string): boolean {
  return path !== '' && !isAbsolute(path) && !path.includes('\0') && !/^\.\.(?:[/\\]|$)/.test(normalize(path));
}

/** Class names, one a line. */
async function readLabels(modelFolder: string, filename: string): Promise<Labels> {
  if (!staysInside(filename)) return { problem: `${JSON.stringify(filename)} must be inside the model's folder` };
  const path = join(modelFolder, filename);
  try {
    const stats = await stat(path);
    if (!stats.isFile()) return { problem: `${path} is not a regular file` };
    if (stats.size > labelFileBytesMax) {
      return {
        problem: `${path} has ${stats.size} bytes, more than ${labelFileBytesMax}; is it really a list of labels?`,
      };
    }
    const text = new TextDecoder('utf-8', { fatal: true }).decode(await readFile(path));
    const labels = text.replace(/\r?\n$/, '').split(/\r?\n/);
    if (labels.length > labelsMax) return { problem: `${path} has ${labels.length} labels, more than ${labelsMax}` };
    return { labels: text === '' ? [] : labels };
  } catch (error) {
    if (error instanceof TypeError) return { problem: `${path} is not UTF-8 text; save it as UTF-8` };
    return { problem: `${path} ${messageFromFileError(error)}` };
  }
}

/** The labels of every output that names a file of them, by output. */
export async function readAllLabels(
  modelFolder: string,
  config: ModelConfig,
  findings: Findings,
): Promise<Map<string, readonly string[]>> {
  const labels = new Map<string, readonly string[]>();
  for (const [index, output] of (config.output ?? []).entries()) {
    if (output.label_filename === undefined || output.label_filename === '') continue;
    const read = await readLabels(modelFolder, output.label_filename);
    if ('problem' in read) findings.problem(`output[${index}].label_filename`, read.problem);
    else labels.set(output.name ?? '', read.labels);
  }
  return labels;
}
