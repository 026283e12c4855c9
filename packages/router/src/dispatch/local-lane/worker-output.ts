/** What a worker process prints, line by line and within limits: user code may print without end. */
import type { Readable } from 'node:stream';

/** Longer lines are cut. */
export const outputCharactersMax = 2000;
/** Lines that are passed on in each window; more are counted. */
export const outputLinesMax = 100;
export const outputWindowMs = 10_000;
/** Characters that are read in a second. A worker that prints more has to wait for the router, not the router for it. */
export const outputReadMax = 1024 * 1024;
const readingMs = 1000;

export interface WorkerLine {
  readonly stream: 'stdout' | 'stderr';
  readonly text: string;
  /** Lines left out before this one, because there were too many. */
  readonly droppedLines: number;
}

interface OpenLine {
  text: string;
  /** How much of it was left out. */
  cutCharacters: number;
}

export class WorkerOutput {
  readonly #onLine: (line: WorkerLine) => void;
  readonly #now: () => number;
  readonly #streams: Readable[] = [];
  #timer: NodeJS.Timeout | undefined;
  #readStart = 0;
  #readCharacters = 0;
  #isOver: boolean = false;
  #windowStart = Number.NEGATIVE_INFINITY;
  #windowLines = 0;
  #droppedLines = 0;

  constructor(onLine: (line: WorkerLine) => void, now: () => number) {
    this.#onLine = onLine;
    this.#now = now;
  }

  /** Reads the stream from now on; `onText` is called with all of it. */
  add(readable: Readable, stream: WorkerLine['stream'], onText: (text: string) => void = () => {}): void {
    this.#streams.push(readable);
    const open: OpenLine = { text: '', cutCharacters: 0 };
    readable.setEncoding('utf8');
    readable.on('data', (text: string) => {
      onText(text);
      this.#take(text, stream, open);
      this.#limit(text.length);
    });
    readable.on('end', () => {
      if (open.text !== '') this.#tell(stream, open);
    });
    // The exit of the process follows and is handled.
    readable.on('error', () => {});
  }

  /** The process has exited: what is left in its pipes is read at once, and is at most what they hold. */
  end(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    for (const readable of this.#streams) readable.resume();
  }

  destroy(): void {
    for (const readable of this.#streams) readable.destroy();
  }

  #take(text: string, stream: WorkerLine['stream'], open: OpenLine): void {
    let start = 0;
    for (let end = text.indexOf('\n'); end !== -1; end = text.indexOf('\n', start)) {
      append(open, text.slice(start, end));
      this.#tell(stream, open);
      start = end + 1;
    }
    append(open, text.slice(start));
  }

  #tell(stream: WorkerLine['stream'], open: OpenLine): void {
    const text = open.cutCharacters === 0 ? open.text.trimEnd() : `${open.text}… (${open.cutCharacters} more)`;
    open.text = '';
    open.cutCharacters = 0;
    if (text === '') return;
    const now = this.#now();
    if (now - this.#windowStart >= outputWindowMs) {
      this.#windowStart = now;
      this.#windowLines = 0;
    }
    if (this.#windowLines === outputLinesMax) {
      this.#droppedLines += 1;
      return;
    }
    this.#windowLines += 1;
    this.#onLine({ stream, text, droppedLines: this.#droppedLines });
    this.#droppedLines = 0;
  }

  #limit(characters: number): void {
    const now = this.#now();
    if (now - this.#readStart >= readingMs) {
      this.#readStart = now;
      this.#readCharacters = 0;
    }
    this.#readCharacters += characters;
    if (this.#readCharacters <= outputReadMax || this.#isOver) return;
    for (const readable of this.#streams) readable.pause();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(
      () => {
        for (const readable of this.#streams) readable.resume();
      },
      this.#readStart + readingMs - now,
    );
  }
}

function append(open: OpenLine, text: string): void {
  const room = outputCharactersMax - open.text.length;
  open.text += text.slice(0, room);
  open.cutCharacters += Math.max(0, text.length - room);
}
