/** An exchange without a connection: tests feed it a request and check the answer. */

import { fieldKindOf, HeaderField } from '@millrace/http2';
import type { HeaderList } from '../../exchange.ts';
import { FieldList, noFields } from '../../wire/field-list.ts';
import { type ServerMemory, unlimitedMemory } from '../../wire/memory.ts';
import { type AnswerBody, WireExchange } from '../../wire/wire-exchange.ts';
import { envelopePrefix } from '../envelope.ts';

export interface DoubleRequest {
  readonly method?: string;
  readonly path?: string;
  readonly query?: string;
  readonly headers?: HeaderList;
}

export class ExchangeDouble extends WireExchange {
  status = 0;
  answerHeaders: HeaderList = [];
  answerTrailers: HeaderList | undefined = undefined;
  readonly pieces: Uint8Array[] = [];
  isStarted: boolean = false;
  isDone: boolean = false;
  isReset: boolean = false;
  /** Writes that are taken before the client stops reading. */
  roomForWrites = Number.POSITIVE_INFINITY;
  wantedTimes = 0;
  onDone: () => void = () => {};

  constructor(
    { method = 'POST', path = '/test.Echo/Unary', query = '', headers = [] }: DoubleRequest,
    memory: ServerMemory = unlimitedMemory,
  ) {
    const fields = headers.map(([name, value]) => new HeaderField(name, value, fieldKindOf(name), true));
    super(
      {
        method,
        path,
        query,
        authority: 'localhost',
        version: '2',
        headers: new FieldList(fields),
        lengthBytes: undefined,
      },
      { address: '127.0.0.1', port: 1, isEncrypted: false, owner: '127.0.0.1', isTrustedProxy: false },
      memory.connection('127.0.0.1'),
    );
  }

  /** The body of the answer. */
  get body(): Buffer {
    return Buffer.concat(this.pieces);
  }

  header(name: string): string | undefined {
    return this.answerHeaders.find(([one]) => one === name)?.[1];
  }

  trailer(name: string): string | undefined {
    return this.answerTrailers?.find(([one]) => one === name)?.[1];
  }

  /** The messages of an enveloped answer. */
  envelopes(): { flags: number; message: Buffer }[] {
    const { body } = this;
    const found: { flags: number; message: Buffer }[] = [];
    for (let at = 0; at < body.length; ) {
      const length = body.readUInt32BE(at + 1);
      found.push({ flags: body[at] as number, message: body.subarray(at + 5, at + 5 + length) });
      at += 5 + length;
    }
    return found;
  }

  inform(): void {}

  start(status: number, headers: HeaderList): void {
    this.isStarted = true;
    this.status = status;
    this.answerHeaders = headers;
  }

  write(piece: Uint8Array, release?: () => void): boolean {
    this.pieces.push(Uint8Array.from(piece));
    release?.();
    this.roomForWrites -= 1;
    return this.roomForWrites > 0;
  }

  end(trailers?: HeaderList): void {
    if (this.isDone) return;
    this.answerTrailers = trailers;
    this.isDone = true;
    this.onDone();
  }

  answer(
    status: number,
    headers: HeaderList,
    body: AnswerBody,
    trailers: HeaderList | undefined,
    release: (() => void) | undefined,
  ): void {
    if (this.isDone || this.abortReason !== undefined) {
      release?.();
      this.end();
      return;
    }
    this.start(status, headers);
    const pieces = body === undefined ? [] : body instanceof Uint8Array ? [body] : body;
    for (const piece of pieces) this.write(piece);
    release?.();
    this.end(trailers);
  }

  whenSent(release: () => void): void {
    release();
  }

  abort(): void {
    this.isReset = true;
    this.end();
  }

  protected credit(): void {}

  protected onBodyDropped(): void {}

  protected onBodyWanted(): void {
    this.wantedTimes += 1;
  }

  /** The request's body, whole. */
  send(...pieces: readonly Uint8Array[]): this {
    for (const piece of pieces) this.acceptData(piece);
    this.acceptEnd(noFields);
    return this;
  }

  /** Resolves when the answer is complete. */
  whenDone(): Promise<void> {
    return new Promise((resolve) => {
      if (this.isDone) resolve();
      else this.onDone = resolve;
    });
  }
}

/** A message behind its prefix. */
export function envelopedText(message: Uint8Array | string, flags = 0): Buffer {
  const bytes = Buffer.from(message as string);
  return Buffer.concat([envelopePrefix(flags, bytes.length), bytes]);
}
