/** The stream that a command writes to, and whether it may use colours there. */

export interface Terminal {
  write(text: string): void;
  readonly isTerminal: boolean;
  readonly hasColours: boolean;
}

export interface OutputStream {
  /** `onWritten` is called when the system has the text, with an error if nobody reads it any more. */
  write(text: string, onWritten?: (error?: Error | null) => void): unknown;
  readonly isTTY?: boolean | undefined;
}

/** Colours are used only on a terminal, and not with NO_COLOR (https://no-color.org) or TERM=dumb. */
export function terminalOf(stream: OutputStream, environment: Readonly<Record<string, string | undefined>>): Terminal {
  const isTerminal = stream.isTTY === true;
  const isColourRefused = (environment.NO_COLOR ?? '') !== '' || environment.TERM === 'dumb';
  return { write: (text) => void stream.write(text), isTerminal, hasColours: isTerminal && !isColourRefused };
}

const codes = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33, cyan: 36 } as const;

export type Paint = (style: keyof typeof codes, text: string) => string;

export function paintOf(terminal: Pick<Terminal, 'hasColours'>): Paint {
  return terminal.hasColours ? (style, text) => `\u001b[${codes[style]}m${text}\u001b[0m` : (_style, text) => text;
}
