import { InferenceError, type JsonValue, parseJson } from '@millrace/protocol';
import type { ReadonlyJsonObject } from '../../model/model-view.ts';
import { bindMessage } from './bind-message.ts';
import { Findings } from './findings.ts';
import { formatMessage } from './format-message.ts';
import { messageFromJson } from './json-message.ts';
import { type ModelConfig, modelConfigSchema } from './model-config-schema.ts';
import { parseConfigText } from './parser.ts';

/** Far more than any configuration needs; a larger file was put there by mistake. */
export const configBytesMax = 1024 * 1024;

export interface ReadModelConfig {
  readonly config: ModelConfig;
  /** The problems so far; later checks add theirs. */
  readonly findings: Findings;
}

const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Reads the text of a `config.pbtxt` and reports every problem at once. Never throws. */
export function readModelConfig(bytes: Uint8Array, source: string): ReadModelConfig {
  const findings = new Findings(source);
  if (bytes.length > configBytesMax) {
    findings.problem(
      '',
      `the file has ${bytes.length} bytes, more than ${configBytesMax}; is it really a configuration?`,
    );
    return { config: {}, findings };
  }
  let text: string;
  try {
    text = utf8.decode(bytes);
  } catch {
    findings.problem('', 'the file is not UTF-8 text; save it as UTF-8');
    return { config: {}, findings };
  }
  const { message, error } = parseConfigText(text);
  if (error !== undefined) {
    findings.problems.push({ source, line: error.line, message: `column ${error.column}: ${error.message}` });
  }
  // The schema has checked every name and type, so the result has the type derived from it.
  const config = bindMessage(message, modelConfigSchema, findings) as ModelConfig;
  return { config, findings };
}

/** Reads a configuration in its JSON form, by the same schema. Never throws. */
export function readModelConfigJson(text: string, source: string): ReadModelConfig {
  const findings = new Findings(source);
  const bytes = Buffer.from(text);
  let value: JsonValue;
  try {
    if (bytes.length > configBytesMax) {
      throw new InferenceError('invalid-request', `has ${bytes.length} bytes, more than ${configBytesMax}`);
    }
    value = parseJson(bytes);
  } catch (error) {
    if (!(error instanceof InferenceError)) throw error;
    findings.problem('', error.message);
    return { config: {}, findings };
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    findings.problem('', 'must be a JSON object, the fields of a model configuration');
    return { config: {}, findings };
  }
  const config = bindMessage(messageFromJson(value, modelConfigSchema), modelConfigSchema, findings) as ModelConfig;
  return { config, findings };
}

/** A completed configuration as the protocols' configuration calls answer it. */
export function jsonFromModelConfig(config: ModelConfig): ReadonlyJsonObject {
  return formatMessage(config as ReadonlyJsonObject, modelConfigSchema);
}
