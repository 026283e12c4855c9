/** What the metadata of a call says for messages that have no field for it: the context, and parameters for the model. */
import { InferenceError, type JsonObject, quote } from '@millrace/protocol';
import { defaultStreamFrameLimits } from '../../streams/frame-limits.ts';
import { FrameJsonReader } from '../../streams/read-frame-json.ts';

export const contextKey = 'millrace-context';
const parametersKey = 'millrace-parameters';

type Metadata = { get(name: string): string | undefined };

const reader = new FrameJsonReader(defaultStreamFrameLimits);
const noParameters: JsonObject = {};

/** The context that the call names; empty: none. */
export function namedContext(metadata: Metadata): string {
  return metadata.get(contextKey)?.trim() ?? '';
}

/** Throws for what is no JSON object, or too large. */
export function parametersFromText(text: string | undefined, where: string): JsonObject {
  if (text === undefined || text.trim() === '') return noParameters;
  try {
    return reader.readParameters(Buffer.from(text));
  } catch (error) {
    if (!(error instanceof InferenceError)) throw error;
    throw new InferenceError(error.code, `${where} must be a JSON object, such as {"seed":7}: ${error.message}`);
  }
}

/** Metadata is ASCII, so JSON writes other characters as escapes. */
export function callParametersOf(metadata: Metadata): JsonObject {
  const text = metadata.get(parametersKey);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what header fields must not have.
  if (text !== undefined && /[^\x00-\x7f]/.test(text)) {
    throw new InferenceError(
      'invalid-request',
      `metadata ${parametersKey} has characters other than ASCII; write them as escapes of JSON, such as \\u00e9`,
    );
  }
  return parametersFromText(text, `metadata ${parametersKey}`);
}

/** The context of calls that name none, and what to say when it cannot be served. */
export class DefaultContext {
  readonly #context: string;

  /** Empty: there is none. */
  constructor(context: string) {
    this.#context = context;
  }

  /** `how` the client names a context. Throws where there is no default. */
  orNamed(named: string, how: string): string {
    const context = named === '' ? this.#context : named;
    if (context !== '') return context;
    throw new InferenceError(
      'invalid-request',
      `the call names no context, and this server has no default (streams.defaultContext); name a model by ${how}`,
    );
  }

  /** An error that the caller would not understand, since it did not name the model. */
  explained(error: InferenceError, named: string, how: string): InferenceError {
    if (named !== '' || error.code !== 'unknown-model') return error;
    return new InferenceError(
      'unknown-model',
      `the call names no context, and the default context ${quote(this.#context)} (streams.defaultContext) is not served; name a model by ${how}, or serve it: ${error.message}`,
      { cause: error },
    );
  }
}
