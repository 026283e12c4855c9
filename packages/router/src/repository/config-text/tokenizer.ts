import { ConfigTextError } from './config-text-error.ts';

export type TokenKind = 'identifier' | 'number' | 'string' | 'symbol' | 'end';

export interface Token {
  readonly kind: TokenKind;
  /** As written; a string keeps its quotes and escapes. Empty at the end. */
  readonly text: string;
  /** Both count from 1; a column is a UTF-16 unit, as editors count. */
  readonly line: number;
  readonly column: number;
}

const blank = /[ \t\r\v\f]+/y;
const comment = /#[^\n]*/y;
const identifier = /[A-Za-z_][A-Za-z0-9_]*/y;
const number = /0[xX][0-9A-Fa-f]+|(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?[fF]?/y;
const symbols = '{}<>[]:,;-';
const byteOrderMark = '\ufeff';

/** Cuts protobuf text format into tokens, one at a time. */
export class Tokenizer {
  readonly #text: string;
  #at: number;
  #line = 1;
  #lineStart: number;

  constructor(text: string) {
    this.#text = text;
    this.#at = text.startsWith(byteOrderMark) ? 1 : 0;
    this.#lineStart = this.#at;
  }

  next(): Token {
    this.#skipBlank();
    const first = this.#text[this.#at];
    if (first === undefined) return this.#token('end', 0);
    if (first === '"' || first === "'") return this.#takeString(first);
    const identifierText = this.#match(identifier);
    if (identifierText !== undefined) return this.#token('identifier', identifierText.length);
    const numberText = this.#match(number);
    if (numberText !== undefined) return this.#takeNumber(numberText);
    if (symbols.includes(first)) return this.#token('symbol', 1);
    throw this.#error(`unexpected character ${printable(first)}`, this.#at);
  }

  #skipBlank(): void {
    for (;;) {
      const skipped = this.#match(blank) ?? this.#match(comment);
      if (skipped !== undefined) this.#at += skipped.length;
      else if (this.#text[this.#at] === '\n') {
        this.#at += 1;
        this.#line += 1;
        this.#lineStart = this.#at;
      } else return;
    }
  }

  #takeNumber(text: string): Token {
    const after = this.#text[this.#at + text.length];
    if (after !== undefined && /[A-Za-z0-9_.]/.test(after)) {
      throw this.#error(
        `the number ${text} runs into ${printable(after)}; put a space or a separator between`,
        this.#at,
      );
    }
    return this.#token('number', text.length);
  }

  #takeString(quote: string): Token {
    for (let at = this.#at + 1; ; at += 1) {
      const unit = this.#text[at];
      if (unit === undefined || unit === '\n') {
        throw this.#error(`the string that begins here is not closed on its line; end it with ${quote}`, this.#at);
      }
      if (unit === quote) return this.#token('string', at + 1 - this.#at);
      // The escaped character may be the quote itself; what the escape means is decided later.
      if (unit === '\\' && this.#text[at + 1] !== '\n') at += 1;
    }
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    return pattern.exec(this.#text)?.[0];
  }

  #token(kind: TokenKind, length: number): Token {
    const start = this.#at;
    this.#at += length;
    const text = this.#text.slice(start, this.#at);
    return { kind, text, line: this.#line, column: start - this.#lineStart + 1 };
  }

  #error(message: string, at: number): ConfigTextError {
    return new ConfigTextError(message, this.#line, at - this.#lineStart + 1);
  }
}

function printable(character: string): string {
  const code = character.charCodeAt(0);
  return code > 0x20 && code < 0x7f ? `'${character}'` : `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
}
