/**
 * The decoders of tokenizer.json, token by token: each takes tokens, and passes on tokens or parts of the text as soon as nothing that
 * may follow can change them. Together they give what Hugging Face's `tokenizers` give for all tokens at once.
 */
import { leadingCharacterBytes } from './utf8.ts';

export type TokenSink = (token: string) => void;

export interface TokenDecoder {
  push(token: string): void;
  /** Passes on what was held back. */
  end(): void;
}

export type MakeTokenDecoder = (next: TokenSink) => TokenDecoder;

function nothingHeld(): void {}

/** A tokenizer without a decoder. */
export function spacesBetween(next: TokenSink): TokenDecoder {
  let isFirst = true;
  return {
    push(token) {
      next(isFirst ? token : ` ${token}`);
      isFirst = false;
    },
    end: nothingHeld,
  };
}

/** A visible sign for each byte: itself where it is printable, otherwise one from U+0100 on (GPT-2). */
const byteOfSign: ReadonlyMap<string, number> = (() => {
  const signs = new Map<string, number>();
  let moved = 0;
  for (let byte = 0; byte < 256; byte++) {
    const isPrintable = (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
    signs.set(String.fromCharCode(isPrintable ? byte : 256 + moved), byte);
    if (!isPrintable) moved += 1;
  }
  return signs;
})();

export function byteLevel(next: TokenSink): TokenDecoder {
  const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });
  return {
    push(token) {
      const bytes = Array.from(token, (sign) => byteOfSign.get(sign));
      // An added token may have other signs; then it stands for itself.
      const isPlain = bytes.includes(undefined);
      next(
        utf8.decode(isPlain ? new TextEncoder().encode(token) : Uint8Array.from(bytes as number[]), { stream: true }),
      );
    },
    end: () => next(utf8.decode()),
  };
}

/**
 * `<0xE2>` stands for a byte. A character is passed on when it is complete, and a byte that belongs to none is U+FFFD, as in
 * SentencePiece. (`tokenizers` wait for the end of a run of bytes, and replace every byte of the run if one is wrong: then a text would
 * have to be held back for as long as bytes follow.)
 */
export function byteFallback(next: TokenSink): TokenDecoder {
  const pending: number[] = [];
  const replaceFirst = (): void => {
    pending.shift();
    next('\ufffd');
  };
  const end = (): void => {
    while (pending.length > 0) replaceFirst();
  };
  return {
    push(token) {
      const digits = /^<0x([0-9A-Fa-f]{2})>$/.exec(token)?.[1];
      if (digits === undefined) {
        end();
        next(token);
        return;
      }
      pending.push(Number.parseInt(digits, 16));
      for (let bytes = leadingCharacterBytes(pending); bytes !== 0; bytes = leadingCharacterBytes(pending)) {
        if (bytes < 0) replaceFirst();
        else next(characterDecoder.decode(Uint8Array.from(pending.splice(0, bytes))));
      }
    },
    end,
  };
}
const characterDecoder = new TextDecoder('utf-8', { ignoreBOM: true });

/** Each sign for a space becomes one, except in the first token where the tokenizer put it before the text. */
export function metaspace(replacement: string, isPrepended: boolean): MakeTokenDecoder {
  return (next) => {
    let isFirst = true;
    return {
      push(token) {
        next(token.replaceAll(replacement, isFirst && isPrepended ? '' : ' '));
        isFirst = false;
      },
      end: nothingHeld,
    };
  };
}

export function replacing(pattern: string, content: string): MakeTokenDecoder {
  return (next) => ({ push: (token) => next(token.replaceAll(pattern, () => content)), end: nothingHeld });
}

/** Takes up to `count` signs from the beginning: of each token, or of the text where tokens were fused before. */
export function strippingStart(content: string, count: number, isFused: boolean): MakeTokenDecoder {
  return (next) => {
    let left = count;
    return {
      push(token) {
        if (!isFused) left = count;
        let rest = token;
        for (; left > 0 && rest.startsWith(content); left--) rest = rest.slice(content.length);
        if (rest !== '') left = 0;
        next(rest);
      },
      end: nothingHeld,
    };
  };
}

/** Takes up to `count` signs from the end of each token. */
export function strippingEnd(content: string, count: number): MakeTokenDecoder {
  return (next) => ({
    push(token) {
      let rest = token;
      for (let left = count; left > 0 && rest.endsWith(content); left--) rest = rest.slice(0, -content.length);
      next(rest);
    },
    end: nothingHeld,
  });
}

export function wordPiece(prefix: string, isCleaned: boolean): MakeTokenDecoder {
  return (next) => {
    let isFirst = true;
    return {
      push(token) {
        const continues = !isFirst && prefix !== '' && token.startsWith(prefix);
        const text = isFirst ? token : continues ? token.slice(prefix.length) : ` ${token}`;
        isFirst = false;
        next(isCleaned ? cleaned(text) : text);
      },
      end: nothingHeld,
    };
  };
}

const replacements = [
  [' .', '.'],
  [' ?', '?'],
  [' !', '!'],
  [' ,', ','],
  [" ' ", "'"],
  [" n't", "n't"],
  [" 'm", "'m"],
  [' do not', " don't"],
  [" 's", "'s"],
  [" 've", "'ve"],
  [" 're", "'re"],
] as const;

function cleaned(text: string): string {
  return replacements.reduce((result, [before, after]) => result.replaceAll(before, after), text);
}

/** A suffix ends a word, and becomes a space if a token follows. */
export function wordSuffix(suffix: string): MakeTokenDecoder {
  return (next) => {
    /** What followed suffixes in the last token; undefined where it had none. */
    let held: readonly string[] | undefined;
    return {
      push(token) {
        if (held !== undefined) next(` ${held.join(' ')}`);
        const [first = '', ...rest] = token.split(suffix);
        held = rest.length > 0 ? rest : undefined;
        next(first);
      },
      end() {
        if (held !== undefined) next(held.join(''));
        held = undefined;
      },
    };
  };
}
