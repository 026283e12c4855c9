/** The body that `millrace models load` sends: files of this machine, read completely. */
import { readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { type ConfigProblem, type JsonObject, messageFromFileError, parseJson } from '@millrace/protocol';
import { CommandFailure } from '../command-failure.ts';
import type { FlagValues } from '../parse-arguments.ts';

export function loadBodyFrom(flags: FlagValues, cwd: string, problems: ConfigProblem[]): JsonObject {
  const body: JsonObject = {};
  const config = flags.takeText('config');
  if (config !== undefined) {
    try {
      body.config = parseJson(readNamed(config, cwd));
    } catch (error) {
      if (error instanceof CommandFailure) throw error;
      problems.push({ source: '--config', message: `${config} is not JSON: ${(error as Error).message}` });
    }
  }
  const files: JsonObject = {};
  for (const written of flags.allTexts('file')) {
    const equals = written.indexOf('=');
    if (equals < 1) problems.push({ source: '--file', message: `must be PATH=FILE, not "${written}"` });
    else files[written.slice(0, equals)] = readNamed(written.slice(equals + 1), cwd).toString('base64');
  }
  if (Object.keys(files).length > 0) {
    body.files = files;
    if (config === undefined) problems.push({ source: '--file', message: 'needs --config, which describes the files' });
  }
  return body;
}

/** Base64 of a larger file does not fit into one JavaScript string. */
const fileBytesMax = 256 * 1024 * 1024;

function readNamed(file: string, cwd: string): Buffer {
  const fullPath = path.resolve(cwd, file);
  try {
    const { size } = statSync(fullPath);
    if (size > fileBytesMax) {
      const advice = 'put it into the repository, or send it over gRPC';
      throw new CommandFailure(`${file} has ${size} bytes, and this command sends at most ${fileBytesMax}; ${advice}`);
    }
    return readFileSync(fullPath);
  } catch (error) {
    if (error instanceof CommandFailure) throw error;
    throw new CommandFailure(`${file} ${messageFromFileError(error)}`);
  }
}
