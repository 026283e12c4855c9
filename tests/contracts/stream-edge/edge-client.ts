/** A client of one edge that keeps what it was told. */
import type { InputFrame, OpenFrame, StreamServerFrame } from '@millrace/protocol';
import type { DialectLink, StreamDialect } from '../../chaos/streams/dialect.ts';
import { eventually } from '../../support/eventually.ts';
import { runningTotal } from '../../support/running-total.ts';

export class EdgeClient {
  readonly frames: StreamServerFrame[] = [];
  /** `code: message`, once the connection was closed by the server; empty: it just ended. */
  closed: string | undefined;
  readonly #link: DialectLink;

  constructor(dialect: StreamDialect, address: string, open: Partial<OpenFrame>) {
    const frame: OpenFrame = {
      kind: 'open',
      mode: 'either',
      context: runningTotal,
      parameters: {},
      resumeAfter: 0,
      protocolVersions: [1],
      ...open,
    };
    this.#link = dialect.connect(address, frame, {
      onFrame: (one) => void this.frames.push(one),
      onClosed: (code, message) => {
        this.closed = `${code}: ${message}`;
      },
    });
  }

  send(...frames: readonly Parameters<DialectLink['send']>[0][]): this {
    for (const frame of frames) this.#link.send(frame);
    return this;
  }

  /** The connection is lost. */
  cut(): void {
    this.#link.close();
  }

  async opened(): Promise<this> {
    await this.until('opened', () => this.frames.some(({ kind }) => kind === 'opened') || this.closed !== undefined);
    return this;
  }

  async accepted(input: number): Promise<void> {
    await this.until(`input ${input} is accepted`, () =>
      this.frames.some(
        (frame) =>
          (frame.kind === 'accepted' && frame.input >= input) ||
          (frame.kind === 'opened' && frame.acceptedInput >= input),
      ),
    );
  }

  async outputs(count: number): Promise<readonly string[]> {
    await this.until(`${count} outputs`, () => this.totals.length >= count || this.closed !== undefined);
    return this.totals;
  }

  /** How the stream ended. */
  async ended(): Promise<string> {
    await this.until('ended', () => this.ending !== undefined || this.closed !== undefined);
    return this.ending ?? `closed ${this.closed}`;
  }

  /** The code with which the server closed the connection. */
  async refused(): Promise<string> {
    await this.until('closed', () => this.closed !== undefined);
    return this.closed?.split(':', 1)[0] ?? '';
  }

  get ending(): string | undefined {
    for (const frame of this.frames) {
      if (frame.kind === 'ended') return `${frame.outcome} ${frame.code ?? ''}`.trim();
    }
    return undefined;
  }

  /** `sequence/input: total` of every output. */
  get totals(): readonly string[] {
    return this.frames.flatMap((frame) => {
      if (frame.kind !== 'output' || frame.payload.kind !== 'tensors') return [];
      const { data } = frame.payload.tensors[0] as { readonly data: Uint8Array };
      return [`${frame.sequence}/${frame.inputSequence}: ${Buffer.from(data).readFloatLE(0)}`];
    });
  }

  until(what: string, isSo: () => boolean): Promise<void> {
    return eventually(what, async () => isSo(), 20_000);
  }
}

export function valueFrame(sequence: number, value: number, isLast = false): InputFrame {
  const data = Buffer.from(Float32Array.of(value).buffer);
  const tensors = [{ name: 'value', datatype: 'FP32' as const, shape: [1, 1], data }];
  return { kind: 'input', sequence, payload: { kind: 'tensors', tensors }, endOfInput: isLast };
}

/** Inputs that the model does not take, and what is said of them. */
export function wrongInputs(sequence: number): ReadonlyMap<string, InputFrame> {
  const right = valueFrame(sequence, 1);
  const [tensor] = right.payload.kind === 'tensors' ? right.payload.tensors : [];
  if (tensor === undefined) throw new Error('an input has a tensor');
  const withTensor = (more: object): InputFrame => ({
    ...right,
    payload: { kind: 'tensors', tensors: [{ ...tensor, ...more }] },
  });
  return new Map([
    ['datatype', withTensor({ datatype: 'INT32' })],
    ['shape', withTensor({ shape: [1, 2], data: Buffer.alloc(8) })],
    ['name', withTensor({ name: 'velue' })],
  ]);
}
