/** An output of a stream as the terminal shows it: the text of a generator as it is, anything else as a line of JSON. */
import type { OutputJson } from '../../stream-client/stream-frames.ts';

/** What a generator calls its text. */
const textOutput = 'text_output';

/** Undefined: the output is no text. */
export function takeOutputText({ text, token, tensors = [] }: OutputJson): string | undefined {
  if (text !== undefined) return text;
  if (token !== undefined) return token.text ?? '';
  const [element] = tensors.find(({ name }) => name === textOutput)?.data ?? [];
  return typeof element === 'string' ? element : undefined;
}

/** Writes outputs one after another: a line that was begun by a text is ended with its answer. */
export class OutputPrinter {
  #isInLine: boolean = false;

  /** What to print for the next output. */
  print(output: OutputJson): string {
    const text = takeOutputText(output);
    const isEnd = output.endOfOutput === true;
    if (text === undefined) return this.end() + lineOf(output);
    if (text !== '') this.#isInLine = !text.endsWith('\n');
    return isEnd ? text + this.end() : text;
  }

  /** Ends the line that was begun, if there is one. */
  end(): string {
    const isInLine = this.#isInLine;
    this.#isInLine = false;
    return isInLine ? '\n' : '';
  }
}

function lineOf({ sequence, inputSequence, tensors = [], bytes }: OutputJson): string {
  if (tensors.length === 0 && bytes === undefined) return '';
  const outputs = Object.fromEntries(tensors.map(({ name, data, raw }) => [name, data ?? { b64: raw }]));
  return `${JSON.stringify({ sequence, inputSequence, ...(bytes === undefined ? { outputs } : { bytes }) })}\n`;
}
