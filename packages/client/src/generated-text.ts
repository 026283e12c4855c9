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

/** The server's names; what is in `parameters` counts more. */
export function generationParameters(options: GenerateOptions): JsonObject {
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
      yield { text: textOf(output), token: output.token, sequence: output.sequence };
    }
  }
}

/** A pipeline may answer with a tensor of text instead of tokens. */
function textOf({ text, tensors }: StreamedOutput): string {
  if (text !== undefined) return text;
  const [only] = Object.values(tensors).filter(({ datatype }) => datatype === 'BYTES');
  return only === undefined ? '' : (only.texts as readonly string[]).join('');
}
