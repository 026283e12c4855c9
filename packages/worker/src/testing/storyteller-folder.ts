/** The bundled generator, for tests: a decoder as exporters of Hugging Face write it. */
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const source = fileURLToPath(new URL('../../../../models/storyteller/1/', import.meta.url));
export const storytellerFile: string = join(source, 'model.onnx');
/** Stands before a text and ends it. */
export const storytellerEndId = 0;
export const storytellerContextTokens = 450;

/** Writes a version folder of a generator, and returns the path of its model file. */
export async function writeStorytellerFolder(folder: string): Promise<string> {
  await cp(source, folder, { recursive: true });
  return join(folder, 'model.onnx');
}
