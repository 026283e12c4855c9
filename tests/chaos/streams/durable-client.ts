/**
 * A client of one stream as it should be: it keeps inputs until they are accepted, stays within its credit, and connects
 * again after the last output that it has seen until it is told how the stream ended. Everything that a server must never
 * say is noted as a problem.
 */
import {
  type EndedFrame,
  errorCatalogue,
  type OpenedFrame,
  type StreamServerFrame,
  streamPayloadBytes,
} from '@millrace/protocol';
import type { FuzzRandom } from '../../fuzz/random.ts';
import type { DialectLink, StreamDialect } from './dialect.ts';
import type { GapWatch } from './gap-watch.ts';
import { outputBytes } from './output-bytes.ts';
import { StreamHistory } from './stream-history.ts';
import type { StreamPlan } from './stream-plans.ts';

export interface DurableClientOptions {
  readonly id: string;
  readonly plan: StreamPlan;
  readonly dialect: StreamDialect;
  readonly address: string;
  /** Of an undisturbed run; undefined: this is one. */
  readonly expected: readonly Buffer[] | undefined;
  /** Between inputs; 0: all at once. */
  readonly paceMs: number;
  /** Outputs that it takes before it acknowledges; undefined: it never does. */
  readonly creditMessages: number | undefined;
  /** How long it takes until it acknowledges. */
  readonly handleMs: number;
  /** It cancels when it has this many outputs; undefined: never. */
  readonly cancelAfter: number | undefined;
  readonly random: FuzzRandom;
  readonly gaps: GapWatch;
  readonly onOpened: () => void;
  readonly onInput: () => void;
}

const backoffMsMin = 50;
const backoffMsMax = 1000;
/** Without a word of the server for this long while one is due, the client gives the connection up. */
const silenceMsMax = 8000;
const creditBytes = 256 * 1024;

export class DurableClient {
  readonly options: DurableClientOptions;
  readonly outputs: Buffer[] = [];
  /** Of a generator, by input: tokens that came, and how many there are as the last one says. */
  readonly texts: { tokens: number; said: number }[] = [];
  readonly openedAt = performance.now();
  endedAt = 0;
  /** When the server last said anything. */
  heardAt = performance.now();
  ending: EndedFrame | undefined;
  resumes = 0;
  /** Connections that it gave up because nothing came. */
  silences = 0;
  readonly whenOver: Promise<void>;
  #over: () => void = () => {};
  readonly #history: StreamHistory;
  #link: DialectLink | undefined;
  #hasOpened: boolean = false;
  /** On the current connection. */
  #isOpen: boolean = false;
  #epoch = 0;
  #acceptedInput = 0;
  #credit = { messages: 0, bytes: 0 };
  #sentInput = 0;
  #sentInputMax = 0;
  #answeredInput = 0;
  #acknowledged = 0;
  /** Inputs that exist by now. */
  #made = 0;
  #paceMs: number;
  #backoffMs = backoffMsMin;
  #isOver: boolean = false;
  #paceTimer: NodeJS.Timeout | undefined;
  #silenceTimer: NodeJS.Timeout | undefined;
  #handleTimer: NodeJS.Timeout | undefined;

  constructor(options: DurableClientOptions) {
    this.options = options;
    this.#paceMs = options.paceMs;
    const { id, plan, dialect } = options;
    this.#history = new StreamHistory(`stream ${id}, ${plan.name} (${plan.inputs.length} inputs), ${dialect.name}`);
    this.whenOver = new Promise((resolve) => {
      this.#over = resolve;
    });
    this.#make();
    this.#connect();
  }

  get lastOutput(): number {
    return this.outputs.length;
  }

  get hasOpened(): boolean {
    return this.#hasOpened;
  }

  get isAttached(): boolean {
    return this.#isOpen;
  }

  /** An output or the end is due. */
  get isWaiting(): boolean {
    return this.#answeredInput < this.#sentInputMax;
  }

  get problems(): readonly string[] {
    return this.#history.problems;
  }

  /** Until its first problem. */
  get history(): string {
    return this.#history.text;
  }

  /** Sends what is left without pauses. */
  hurry(): void {
    this.#paceMs = 0;
    clearTimeout(this.#paceTimer);
    this.#make();
    if (this.#isOpen) this.#pump();
  }

  /** Nothing more is expected of it. */
  abandon(problem: string): void {
    this.#problem(problem);
    this.#finish();
  }

  note(text: string): void {
    this.#history.note(text);
  }

  get #inputCount(): number {
    const { plan } = this.options;
    return plan.inputs.length + (plan.endsEmpty && !this.options.dialect.hasOneInput ? 1 : 0);
  }

  #make(): void {
    if (this.#isOver || this.#made >= this.#inputCount) return;
    this.#made = this.#paceMs === 0 ? this.#inputCount : this.#made + 1;
    if (this.#isOpen) this.#pump();
    if (this.#made < this.#inputCount) this.#paceTimer = setTimeout(() => this.#make(), this.#paceMs);
  }

  #connect(): void {
    const { id, plan, dialect, address, creditMessages } = this.options;
    const mode = this.#hasOpened ? 'resume' : 'either';
    this.note(`${mode} after output ${this.lastOutput}`);
    this.#watchSilence();
    this.#acknowledged = this.lastOutput;
    const link: DialectLink = dialect.connect(
      address,
      {
        kind: 'open',
        streamId: id,
        mode,
        context: plan.model,
        parameters: plan.parameters,
        resumeAfter: this.lastOutput,
        outputCredit: creditMessages === undefined ? undefined : { messages: creditMessages, bytes: creditBytes },
        protocolVersions: [],
      },
      {
        onFrame: (frame) => {
          if (this.#link === link && !this.#isOver) this.#hear(frame);
        },
        onClosed: (code, message) => {
          if (this.#link === link && !this.#isOver) this.#lost(code, message);
        },
      },
    );
    this.#link = link;
    // It goes out with the opening, whatever was accepted before.
    if (dialect.hasOneInput) this.#sendInput(1);
  }

  #hear(frame: StreamServerFrame): void {
    switch (frame.kind) {
      case 'opened':
        this.#hearOpened(frame);
        break;
      case 'accepted':
        this.note(`accepted ${frame.input}, credit ${frame.inputCredit?.messages}`);
        this.#accept(frame.input, frame.inputCredit);
        break;
      case 'output':
        this.#hearOutput(frame);
        break;
      case 'draining':
        this.note('draining');
        break;
      case 'ended':
        this.#hearEnded(frame);
        return;
    }
    this.heardAt = performance.now();
    this.#watchSilence();
    if (this.#isOpen) this.#pump();
  }

  #hearOpened(frame: OpenedFrame): void {
    const { epoch, acceptedInput, nextOutput, inputCredit, streamId } = frame;
    this.note(
      `opened, epoch ${epoch}, accepted ${acceptedInput}, next output ${nextOutput}, credit ${inputCredit.messages}`,
    );
    if (this.#isOpen) this.#problem('it was opened twice on one connection');
    if (streamId !== this.options.id) this.#problem(`the server calls it ${streamId}`);
    if (epoch < this.#epoch) this.#problem(`its epoch went back from ${this.#epoch} to ${epoch}`);
    if (nextOutput !== this.lastOutput + 1) this.#problem(`its next output is ${nextOutput} after ${this.lastOutput}`);
    if (acceptedInput < this.#acceptedInput) {
      this.#problem(`input ${this.#acceptedInput} was accepted, and now only ${acceptedInput}`);
    }
    this.#epoch = epoch;
    if (this.#hasOpened) this.resumes += 1;
    this.#hasOpened = true;
    this.#isOpen = true;
    this.#backoffMs = backoffMsMin;
    this.#sentInput = acceptedInput;
    this.#accept(acceptedInput, inputCredit);
    this.options.gaps.opened(this);
    this.options.onOpened();
    this.#cancelIfDue();
  }

  #accept(input: number, credit: { readonly messages: number; readonly bytes: number } | undefined): void {
    if (input < this.#acceptedInput) this.#problem(`accepted went back from ${this.#acceptedInput} to ${input}`);
    if (input > this.#sentInputMax) this.#problem(`input ${input} was accepted and never sent`);
    this.#acceptedInput = Math.max(this.#acceptedInput, input);
    this.#sentInput = Math.max(this.#sentInput, input);
    if (credit !== undefined) this.#credit = credit;
  }

  #hearOutput(frame: StreamServerFrame & { kind: 'output' }): void {
    const { sequence, inputSequence, endOfOutput } = frame;
    const { expected, gaps } = this.options;
    const bytes = outputBytes(frame);
    this.note(`output ${sequence} for input ${inputSequence}${endOfOutput ? ', its last' : ''}`);
    if (sequence !== this.lastOutput + 1) {
      const what = sequence <= this.lastOutput ? 'doubled' : 'lost';
      this.#problem(`${what}: output ${sequence} came after output ${this.lastOutput}`);
      return;
    }
    this.outputs.push(bytes);
    const wanted = expected?.[sequence - 1];
    if (expected !== undefined && (wanted === undefined || Buffer.compare(wanted, bytes) !== 0)) {
      this.#problem(
        `different: output ${sequence} is\n    ${textOf(bytes)}, in the undisturbed run\n    ${textOf(wanted)}`,
      );
    }
    const said = saidTokens(frame);
    if (said !== undefined) {
      this.texts[inputSequence - 1] = { tokens: (this.texts[inputSequence - 1]?.tokens ?? 0) + 1, said };
    }
    if (endOfOutput) this.#answeredInput = Math.max(this.#answeredInput, inputSequence);
    gaps.output(this);
    this.#acknowledgeSome();
    this.#cancelIfDue();
  }

  #hearEnded(frame: EndedFrame): void {
    this.note(`ended ${frame.outcome} ${frame.code ?? ''} ${frame.message}, ${frame.outputs} outputs`);
    // Outputs beyond the credit of a client that cancels are not waited for.
    const isAll = frame.outcome === 'cancelled' ? frame.outputs >= this.lastOutput : frame.outputs === this.lastOutput;
    if (!isAll) this.#problem(`lost: it ended with ${frame.outputs} outputs, and ${this.lastOutput} came`);
    const expected = this.options.expected?.length ?? this.lastOutput;
    if (frame.outcome === 'done' && expected !== this.lastOutput) {
      this.#problem(`lost: it is done after ${this.lastOutput} outputs of ${expected}`);
    }
    this.ending = frame;
    this.#finish();
  }

  #lost(code: string, message: string): void {
    this.note(`connection lost: ${code} ${message}`);
    this.#isOpen = false;
    const isFinal =
      code !== '' &&
      code !== 'stream-superseded' &&
      errorCatalogue[code as keyof typeof errorCatalogue]?.retry === 'never';
    if (isFinal || !(code === '' || code in errorCatalogue)) this.abandon(`refused: ${code} ${message}`);
    else this.#reconnect();
  }

  #reconnect(): void {
    clearTimeout(this.#handleTimer);
    this.#handleTimer = undefined;
    const pauseMs = this.#backoffMs * (0.5 + this.options.random.below(1000) / 2000);
    this.#backoffMs = Math.min(2 * this.#backoffMs, backoffMsMax);
    this.options.gaps.paused(this, pauseMs);
    clearTimeout(this.#silenceTimer);
    this.#silenceTimer = setTimeout(() => this.#connect(), pauseMs);
  }

  #pump(): void {
    while (this.#sentInput < this.#made && this.#hasCreditFor(this.#sentInput + 1)) {
      this.#sendInput(this.#sentInput + 1);
    }
  }

  #hasCreditFor(sequence: number): boolean {
    if (sequence > this.#acceptedInput + this.#credit.messages) return false;
    let bytes = 0;
    for (let next = this.#acceptedInput + 1; next <= sequence; next++) {
      const payload = this.options.plan.inputs[next - 1];
      bytes += payload === undefined ? 0 : streamPayloadBytes(payload);
    }
    return bytes <= this.#credit.bytes;
  }

  /** Again on every connection until it is told that the stream has ended: the first may have been lost. */
  #cancelIfDue(): void {
    const { cancelAfter } = this.options;
    if (cancelAfter === undefined || this.lastOutput < cancelAfter) return;
    this.note('cancel');
    this.#link?.send({ kind: 'cancel', reason: 'the client has enough' });
  }

  #sendInput(sequence: number): void {
    const wasWaiting = this.isWaiting;
    const payload = this.options.plan.inputs[sequence - 1] ?? { kind: 'none' };
    this.#sentInput = sequence;
    this.#sentInputMax = Math.max(this.#sentInputMax, sequence);
    this.#link?.send({ kind: 'input', sequence, payload, endOfInput: sequence === this.#inputCount });
    this.note(`input ${sequence}`);
    this.options.onInput();
    // Inputs that go out while an answer is due must not put off the moment at which the connection is given up.
    if (!wasWaiting) this.#watchSilence();
  }

  /** Sometimes early, and before the credit is used up. */
  #acknowledgeSome(): void {
    const { creditMessages, handleMs, random } = this.options;
    if (creditMessages === undefined || this.#handleTimer !== undefined) return;
    const unacknowledged = this.lastOutput - this.#acknowledged;
    if (unacknowledged * 2 < creditMessages && !random.oneIn(8)) return;
    const acknowledge = (): void => {
      this.#handleTimer = undefined;
      this.#acknowledged = this.lastOutput;
      const outputCredit = { messages: creditMessages, bytes: creditBytes };
      this.note(`acknowledge ${this.lastOutput}`);
      this.#link?.send({ kind: 'acknowledge', output: this.lastOutput, outputCredit });
      this.#watchSilence();
    };
    if (handleMs === 0) acknowledge();
    else this.#handleTimer = setTimeout(acknowledge, handleMs);
  }

  #watchSilence(): void {
    clearTimeout(this.#silenceTimer);
    this.#silenceTimer = setTimeout(() => {
      const isAllSent = this.#sentInputMax === this.#inputCount;
      if (this.#isOpen && !this.isWaiting && !isAllSent) {
        this.#watchSilence();
        return;
      }
      this.note(`silent for ${silenceMsMax} ms: connection given up`);
      this.silences += 1;
      this.options.gaps.silent(this);
      this.#isOpen = false;
      this.#link?.close();
      this.#reconnect();
    }, silenceMsMax);
  }

  #problem(text: string): void {
    this.#history.problem(text);
  }

  #finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#isOpen = false;
    this.endedAt = performance.now();
    clearTimeout(this.#paceTimer);
    clearTimeout(this.#silenceTimer);
    clearTimeout(this.#handleTimer);
    this.#link?.close();
    this.options.gaps.forget(this);
    this.#over();
  }
}

function textOf(bytes: Buffer | undefined): string {
  return bytes === undefined ? 'nothing' : bytes.toString('base64');
}

/** The output of a generator that counts its tokens. */
function saidTokens({ payload }: StreamServerFrame & { kind: 'output' }): number | undefined {
  if (payload.kind !== 'tensors') return undefined;
  const data = payload.tensors.find(({ name }) => name === 'output_tokens')?.data;
  return data === undefined ? undefined : Buffer.from(data).readInt32LE(0);
}
