import { ConfigTextError } from './config-text-error.ts';
import { bytesFromLiteral } from './string-literal.ts';
import { type Token, Tokenizer } from './tokenizer.ts';

/** Deeper blocks than any real configuration has; keeps a hostile file from exhausting the stack. */
export const nestingDepthMax = 32;

export interface TextPosition {
  readonly line: number;
  readonly column: number;
}

export type TextScalar = TextPosition &
  (
    | { readonly kind: 'string'; readonly bytes: Uint8Array }
    /** `text` without the sign. */
    | { readonly kind: 'number' | 'identifier'; readonly text: string; readonly isNegative: boolean }
  );

export interface TextMessage extends TextPosition {
  readonly kind: 'message';
  readonly fields: readonly TextField[];
}

export interface TextList extends TextPosition {
  readonly kind: 'list';
  readonly elements: readonly (TextScalar | TextMessage)[];
}

export type TextValue = TextScalar | TextMessage | TextList;

export interface TextField extends TextPosition {
  readonly name: string;
  readonly value: TextValue;
}

export interface ParsedText {
  /** Everything up to the error, so that other problems before it can be reported as well. */
  readonly message: TextMessage;
  readonly error: ConfigTextError | undefined;
}

/** Reads protobuf text format without knowing any schema: names, values and their positions. Never throws. */
export function parseConfigText(text: string): ParsedText {
  const fields: TextField[] = [];
  let error: ConfigTextError | undefined;
  try {
    new Parser(new Tokenizer(text)).readFields(fields, undefined);
  } catch (thrown) {
    if (!(thrown instanceof ConfigTextError)) throw thrown;
    error = thrown;
  }
  return { message: { kind: 'message', fields, line: 1, column: 1 }, error };
}

const closers: Readonly<Record<string, string>> = { '{': '}', '<': '>' };

class Parser {
  readonly #tokens: Tokenizer;
  #token: Token;
  #depth = 0;

  constructor(tokens: Tokenizer) {
    this.#tokens = tokens;
    this.#token = tokens.next();
  }

  /** Appends to `fields` as it goes, until `opener` is closed, or to the end of the text when there is none. */
  readFields(fields: TextField[], opener: Token | undefined): void {
    const closer = opener === undefined ? undefined : closers[opener.text];
    for (;;) {
      if (this.#token.kind === 'end') {
        if (opener === undefined) return;
        throw this.#error(`the '${opener.text}' opened here is never closed with '${closer}'`, opener);
      }
      if (closer !== undefined && this.#take(closer)) return;
      fields.push(this.#readField());
      if (!this.#take(',')) this.#take(';');
    }
  }

  #readField(): TextField {
    const name = this.#token;
    if (name.text === '[')
      throw this.#error('extensions have no meaning in a model configuration; remove this field', name);
    if (name.kind !== 'identifier') throw this.#error(`expected a field name, found ${spoken(name)}`, name);
    this.#advance();
    const hasColon = this.#take(':');
    const value = this.#readValue(name.text);
    if (!hasColon && !isBlock(value)) {
      throw this.#error(`expected ':' between ${name.text} and its value, or '{' if it is a message`, value);
    }
    return { name: name.text, value, line: name.line, column: name.column };
  }

  #readValue(name: string): TextValue {
    const opener = this.#token;
    if (!this.#take('[')) return this.#readElement(name);
    const elements: (TextScalar | TextMessage)[] = [];
    if (!this.#take(']')) {
      do elements.push(this.#readElement(name));
      while (this.#take(','));
      if (!this.#take(']')) {
        throw this.#error(`expected ',' or ']' in the list of ${name}, found ${spoken(this.#token)}`, this.#token);
      }
    }
    return { kind: 'list', elements, line: opener.line, column: opener.column };
  }

  #readElement(name: string): TextScalar | TextMessage {
    const token = this.#token;
    const { line, column } = token;
    if (token.text === '{' || token.text === '<') {
      if (this.#depth === nestingDepthMax) {
        throw this.#error(`blocks are nested more than ${nestingDepthMax} deep`, token);
      }
      this.#advance();
      this.#depth += 1;
      const fields: TextField[] = [];
      this.readFields(fields, token);
      this.#depth -= 1;
      return { kind: 'message', fields, line, column };
    }
    if (token.kind === 'string') return { kind: 'string', bytes: this.#readStrings(), line, column };
    const isNegative = this.#take('-');
    const value = this.#token;
    if (value.kind === 'number' || value.kind === 'identifier') {
      this.#advance();
      return { kind: value.kind, text: value.text, isNegative, line, column };
    }
    throw this.#error(`expected a value for ${name}, found ${spoken(value)}`, value);
  }

  /** Strings that follow one another are one string. */
  #readStrings(): Uint8Array {
    const parts: Uint8Array[] = [];
    while (this.#token.kind === 'string') {
      parts.push(bytesFromLiteral(this.#token));
      this.#advance();
    }
    return Buffer.concat(parts);
  }

  #take(symbol: string): boolean {
    if (this.#token.kind !== 'symbol' || this.#token.text !== symbol) return false;
    this.#advance();
    return true;
  }

  #advance(): void {
    this.#token = this.#tokens.next();
  }

  #error(message: string, at: TextPosition): ConfigTextError {
    return new ConfigTextError(message, at.line, at.column);
  }
}

/** A block or a list of blocks, also an empty one: what may follow a name without a colon. */
function isBlock(value: TextValue): boolean {
  return (
    value.kind === 'message' || (value.kind === 'list' && value.elements.every((element) => element.kind === 'message'))
  );
}

function spoken(token: Token): string {
  if (token.kind === 'end') return 'the end of the file';
  const text = token.text.length > 40 ? `${token.text.slice(0, 40)}…` : token.text;
  return token.kind === 'string' ? `the string ${text}` : `'${text}'`;
}
