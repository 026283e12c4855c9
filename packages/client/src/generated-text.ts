import type { JsonObject } from '@millrace/protocol';
import type { DurableStreamOptions } from './client.ts';
import type { InferenceStream, StreamedOutput, StreamPosition } from './session/inference-stream.ts';

export interface GenerateOptions extends DurableStreamOptions {
  readonly maxTokens?: number;
  readonly temperature?: number;
  readonly topP?: number;
  readonly topK?: number;
  readonly seed?: number;
  /** Texts that end the generation. */
  readonly stop?: string | readonly string[];
}

const knownOptions: Readonly<Record<keyof GenerateOptions, true>> = {
  maxTokens: true,
  temperature: true,
  topP: true,
  topK: true,
  seed: true,
  stop: true,
  parameters: true,
  deadlineMs: true,
  signal: true,
  streamId: true,
  resume: true,
  creditMessages: true,
  creditBytes: true,
  resumeMsMax: true,
  onGap: true,
  onResumed: true,
};

/** Programs without types write the server's names, which would change nothing. */
function mustBeKnown(options: object): void {
  for (const name of Object.keys(options)) {
    if (Object.hasOwn(knownOptions, name)) continue;
    const meant = name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    const hint = Object.hasOwn(knownOptions, meant) ? `; did you mean '${meant}'?` : '';
    throw new TypeError(
      `generate has no option '${name}'${hint}; further parameters of the model go into 'parameters'`,
    );
  }
}

/** The server's names; what is in `parameters` counts more. Throws a TypeError for an option that does not exist. */
export function generationParameters(options: GenerateOptions): JsonObject {
  mustBeKnown(options);
  const { maxTokens, temperature, topP, topK, seed, stop, parameters } = options;
  return {
    ...(maxTokens === undefined ? {} : { max_tokens: maxTokens }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { top_p: topP }),
    ...(topK === undefined ? {} : { top_k: topK }),
    ...(seed === undefined ? {} : { seed }),
    ...(stop === undefined ? {} : { stop: typeof stop === 'string' ? stop : [...stop] }),
    ...parameters,
  };
}

/** A piece of a generated text. */
export interface TextPiece {
  readonly text: string;
  readonly token: number | undefined;
  /** Of the last piece: why the text ended, as the model says it (`stop`, `length`). */
  readonly finishReason: string | undefined;
  /** For `position`. */
  readonly sequence: number;
}

/** Pieces as they are made; or all of them with `text()`. */
export class GeneratedText implements AsyncIterable<TextPiece> {
  readonly #stream: InferenceStream;

  constructor(stream: InferenceStream) {
    this.#stream = stream;
  }

  get position(): StreamPosition {
    return this.#stream.position;
  }

  cancel(reason?: string): void {
    this.#stream.cancel(reason);
  }

  /** Leaves the generation, which goes on as far as its credit, to be resumed. */
  detach(): StreamPosition {
    return this.#stream.detach();
  }

  async text(): Promise<string> {
    let text = '';
    for await (const piece of this) text += piece.text;
    return text;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<TextPiece, undefined> {
    for await (const output of this.#stream) {
      const { sequence, tensors } = output;
      // What only says that there is no more has no text of its own.
      if (output.text === undefined && Object.keys(tensors).length === 0) continue;
      const finishReason = tensors.finish_reason?.texts?.[0];
      yield { text: textOf(output), token: tokenOf(output), finishReason: finishReason || undefined, sequence };
    }
  }
}

/** A pipeline may answer with one tensor of text, whatever its name. */
function textOf({ text, tensors }: StreamedOutput): string {
  if (text !== undefined) return text;
  const [first] = Object.values(tensors).filter(({ datatype }) => datatype === 'BYTES');
  const given = tensors.text_output ?? first;
  return given === undefined ? '' : (given.texts as readonly string[]).join('');
}

function tokenOf({ token, tensors }: StreamedOutput): number | undefined {
  const [id] = token === undefined ? (tensors.token?.data ?? []) : [token];
  return typeof id === 'bigint' || typeof id === 'number' ? Number(id) : undefined;
}
