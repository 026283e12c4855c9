/** A server of durable streams as its clients know it: what is accepted and sent survives connections and restarts. */
import type {
  InputFrame,
  OpenFrame,
  OutputFrame,
  StreamClientFrame,
  StreamCredit,
  StreamServerFrame,
} from '@millrace/protocol';
import { MillraceError } from '../../errors/millrace-error.ts';

/** How many outputs an input has; 0 gives one empty output that ends the answer. */
export const outputCountOf = (input: number): number => (input * 7) % 4;

export class StreamServerDouble {
  readonly applied: string[] = [];
  acknowledged = 0;
  epoch = 1;
  isExisting: boolean = false;
  isEnded: boolean = false;
  isCancelled: boolean = false;
  /** Inputs in one frame that a client may be ahead. */
  readonly inputCredit: StreamCredit;
  /** Received in order, or ahead of their turn. */
  readonly #early = new Map<number, InputFrame>();
  #accepted = 0;
  #outputs: OutputFrame[] = [];
  #link: Attached | undefined = undefined;
  /** Of the last link; a restart forgets it. */
  #client = { id: '', attempt: 0 };
  problem: string | undefined = undefined;

  constructor(inputCredit: StreamCredit) {
    this.inputCredit = inputCredit;
  }

  /** Throws the refusal. `send` is called until the link is detached or superseded. */
  attach(
    open: OpenFrame,
    send: (frame: StreamServerFrame) => void,
    close: (error: MillraceError) => void = () => {},
  ): Attached {
    const { clientId = '', attempt = 0 } = open;
    if (clientId === this.#client.id && attempt < this.#client.attempt) throw superseded();
    if (open.mode === 'resume' && !this.isExisting) throw new MillraceError('stream-not-found', 'no such stream');
    if (open.resumeAfter < this.acknowledged) throw new MillraceError('output-expired', 'acknowledged before');
    this.isExisting = true;
    this.#acknowledge(open.resumeAfter);
    const credit = open.outputCredit?.messages ?? 0;
    const link = { send, close, after: open.resumeAfter, credit, base: open.resumeAfter };
    this.#link?.close(superseded());
    this.#client = { id: clientId, attempt };
    this.#link = link;
    send({
      kind: 'opened',
      streamId: open.streamId ?? '',
      epoch: this.epoch,
      model: 'm',
      version: '1',
      protocolVersion: 1,
      acceptedInput: this.#accepted,
      nextOutput: open.resumeAfter + 1,
      inputCredit: this.inputCredit,
      warnings: [],
    });
    this.#deliver();
    return link;
  }

  detach(link: Attached): void {
    if (this.#link === link) this.#link = undefined;
  }

  restart(): void {
    this.#link = undefined;
    this.#client = { id: '', attempt: 0 };
    this.#early.clear();
    this.epoch += 1;
  }

  receive(link: Attached, frame: StreamClientFrame): void {
    if (this.#link !== link) return;
    if (frame.kind === 'acknowledge') {
      this.#acknowledge(frame.output);
      link.base = frame.output;
      link.credit = frame.outputCredit?.messages ?? link.credit;
      this.#deliver();
    } else if (frame.kind === 'input') this.#onInput(link, frame);
    else if (frame.kind === 'cancel') {
      this.isCancelled = true;
      this.isEnded = true;
      link.send({ kind: 'ended', outcome: 'cancelled', code: 'cancelled', message: frame.reason, outputs: 0 });
    } else this.problem = 'open came twice';
  }

  /** An input in a request of its own. Returns the last one accepted. */
  receiveBeside(frame: InputFrame): number {
    this.#onInput(this.#link, frame);
    return this.#accepted;
  }

  #acknowledge(output: number): void {
    this.acknowledged = Math.max(this.acknowledged, output);
  }

  #onInput(link: Attached | undefined, frame: InputFrame): void {
    if (frame.sequence > this.#accepted + this.inputCredit.messages)
      this.problem = `input ${frame.sequence} exceeds the credit`;
    if (frame.sequence > this.#accepted) this.#early.set(frame.sequence, frame);
    for (
      let next = this.#early.get(this.#accepted + 1);
      next !== undefined;
      next = this.#early.get(this.#accepted + 1)
    ) {
      this.#early.delete(next.sequence);
      this.#accepted = next.sequence;
      this.#apply(next);
    }
    link?.send({ kind: 'accepted', input: this.#accepted, inputCredit: this.inputCredit });
    this.#deliver();
  }

  #apply(frame: InputFrame): void {
    const text = frame.payload.kind === 'text' ? frame.payload.text : '';
    this.applied.push(text);
    const count = Math.max(1, frame.payload.kind === 'none' ? 0 : outputCountOf(frame.sequence));
    for (let index = 0; index < count && frame.payload.kind !== 'none'; index++) {
      this.#outputs.push({
        kind: 'output',
        sequence: this.#outputs.length + 1,
        inputSequence: frame.sequence,
        payload: outputCountOf(frame.sequence) === 0 ? { kind: 'none' } : { kind: 'text', text: `${text}/${index}` },
        endOfOutput: index === count - 1,
      });
    }
    if (frame.endOfInput) this.isEnded = true;
  }

  #deliver(): void {
    const link = this.#link;
    if (link === undefined) return;
    while (link.after < this.#outputs.length && link.after < link.base + link.credit) {
      link.send(this.#outputs[link.after] as OutputFrame);
      link.after += 1;
    }
    if (this.isEnded && link.after === this.#outputs.length) {
      link.send({ kind: 'ended', outcome: 'done', message: '', outputs: this.#outputs.length });
      this.#link = undefined;
    }
  }

  get outputTexts(): readonly string[] {
    return this.#outputs.map(({ payload }) => (payload.kind === 'text' ? payload.text : ''));
  }
}

const superseded = (): MillraceError =>
  new MillraceError('stream-superseded', 'another client has resumed this stream');

export interface Attached {
  readonly send: (frame: StreamServerFrame) => void;
  readonly close: (error: MillraceError) => void;
  /** The last output sent on it. */
  after: number;
  /** What the credit counts from. */
  base: number;
  credit: number;
}
