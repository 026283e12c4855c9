/** The configuration of one run of the command: flags, variables and file combined, with all problems at once. */
import { accessSync, constants, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { ConfigError, type ConfigProblem, messageFromFileError } from '@millrace/protocol';
import type { Environment } from '../config/environment-layer.ts';
import { type Config, configFields, configFlag, configVariable } from '../config/fields.ts';
import { resolveConfig } from '../config/resolve-config.ts';
import type { WrittenValue } from '../config/written-value.ts';
import { type ConfigFile, configFileBytesMax } from '../config/yaml-layer.ts';
import type { ParsedArguments } from './parse-arguments.ts';

/** The arguments of `serve` are model paths; they count as flags. */
const argumentsSource = 'millrace serve';

export function loadConfig(parsed: ParsedArguments, environment: Environment, cwd: string): Config {
  const problems: ConfigProblem[] = [...parsed.problems];
  const file = takeConfigFile(parsed, environment, cwd, problems);
  try {
    const config = resolveConfig({
      ...(file === undefined ? {} : { file }),
      environment,
      flags: flagLayer(parsed, cwd),
      cwd,
      // The value of an unknown flag is taken for a path; only the flag is reported then.
      ...(parsed.problems.length === 0 ? { pathProblem } : {}),
    });
    if (config.models.paths.length === 0) {
      const message = 'is empty; run millrace serve ./models, or set it in the configuration file';
      problems.push({ source: argumentsSource, field: 'models.paths', message });
    }
    if (problems.length === 0) return config;
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    problems.push(...error.problems);
  }
  throw new ConfigError(problems);
}

function takeConfigFile(
  parsed: ParsedArguments,
  environment: Environment,
  cwd: string,
  problems: ConfigProblem[],
): ConfigFile | undefined {
  const flagged = parsed.flags.takeText(configFlag);
  const name = flagged ?? environment[configVariable];
  if (name === undefined || name === '') return undefined;
  const source = flagged === undefined ? configVariable : `--${configFlag}`;
  const fullPath = path.resolve(cwd, name);
  try {
    const { size } = statSync(fullPath);
    if (size <= configFileBytesMax) return { path: name, text: readFileSync(fullPath, 'utf8') };
    problems.push({
      source,
      message: `${name} is larger than ${configFileBytesMax} bytes; is it a configuration file?`,
    });
  } catch (error) {
    problems.push({ source, message: `${name} ${messageFromFileError(error)}` });
  }
  return undefined;
}

function flagLayer(parsed: ParsedArguments, cwd: string): WrittenValue[] {
  const values: WrittenValue[] = [];
  const modelPaths = [...parsed.positionals];
  for (const { spec, value } of parsed.flags.given()) {
    if (spec.setting === undefined) continue;
    if (spec.setting.path === 'models.paths') modelPaths.push(String(value));
    else values.push({ field: spec.setting, value, source: `--${spec.flag}`, folder: cwd });
  }
  const field = configFields.find((one) => one.path === 'models.paths');
  if (modelPaths.length > 0 && field !== undefined) {
    values.push({ field, value: modelPaths, source: argumentsSource, folder: cwd });
  }
  return values;
}

/** What keeps a path from being served, if anything. */
export function pathProblem(modelPath: string): string | undefined {
  try {
    const isFolder = statSync(modelPath).isDirectory();
    if (!isFolder && !modelPath.endsWith('.onnx')) {
      return `${modelPath} is neither a folder of models nor an .onnx file; give one of these`;
    }
    accessSync(modelPath, isFolder ? constants.R_OK | constants.X_OK : constants.R_OK);
    return undefined;
  } catch (error) {
    return `${modelPath} ${messageFromFileError(error)}`;
  }
}
