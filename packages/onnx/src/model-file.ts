import { constants } from 'node:fs';
import { open } from 'node:fs/promises';
import { type ByteSource, byteSourceFromFile } from './byte-source.ts';
import { OnnxFileError } from './onnx-file-error.ts';

/**
 * Opens the bytes of a model file for a function. Anything but a regular file, a pipe for instance, is refused without
 * waiting.
 */
export async function withModelFile<Result>(
  path: string,
  use: (source: ByteSource) => Promise<Result>,
): Promise<Result> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = await file.stat();
    if (!stats.isFile()) throw new OnnxFileError('it is not a regular file');
    return await use(byteSourceFromFile(file, stats.size));
  } finally {
    await file.close();
  }
}
