import type {
  AnsweredMessage,
  CallMessage,
  FailedMessage,
  FromWorker,
  Lane,
  LoadSpec,
  Region,
  Tensor,
  WorkerLink,
} from '@millrace/protocol';

type Answer = AnsweredMessage | FailedMessage;

/**
 * Drives one link and writes down what it says. Holds every test to the two rules that concern all: nothing is received
 * from inside a call, and nothing after `gone`.
 */
export class LinkProbe {
  readonly link: WorkerLink;
  readonly received: FromWorker[] = [];
  readonly violations: string[] = [];
  readonly #loaded = new Set<number>();
  /** Memory of answers and calls that the test has not released. */
  readonly #held = new Set<Region>();
  #isInsideCall: boolean = true;
  #waiting: { isAwaited: (message: FromWorker) => boolean; resolve: (message: FromWorker) => void }[] = [];
  #nextBatch = 1;

  constructor(lane: Lane) {
    this.link = lane.open((message) => this.#receive(message));
    this.#isInsideCall = false;
  }

  /** The first message, past or future, that fits; a `gone` that was not asked for is an error. */
  async until<Kind extends FromWorker['kind']>(
    kind: Kind,
    fits: (message: Extract<FromWorker, { kind: Kind }>) => boolean = () => true,
  ): Promise<Extract<FromWorker, { kind: Kind }>> {
    type Wanted = Extract<FromWorker, { kind: Kind }>;
    const isAwaited = (message: FromWorker): boolean => message.kind === kind && fits(message as Wanted);
    const past = this.received.find(isAwaited) ?? this.received.find((message) => message.kind === 'gone');
    const message = past ?? (await new Promise<FromWorker>((resolve) => this.#waiting.push({ isAwaited, resolve })));
    if (!isAwaited(message)) throw new Error(`waited for ${kind} and got ${JSON.stringify(message)}`);
    return message as Wanted;
  }

  async load(spec: LoadSpec): Promise<void> {
    this.#loaded.add(spec.model);
    this.call((link) => link.send({ kind: 'load', spec }));
    const message = await this.#untilAny(
      (message) => (message.kind === 'ready' || message.kind === 'load-failed') && message.model === spec.model,
    );
    if (message.kind !== 'ready') throw new Error(`not loaded: ${JSON.stringify(message)}`);
  }

  /** Writes the inputs side by side into lent memory and sends them; returns the number of the batch. */
  dispatch(
    model: number,
    inputs: readonly { index: number; shape: readonly number[]; data: Uint8Array }[],
    outputs: readonly number[],
    onRelease: () => void = () => {},
  ): number {
    const batch = this.#nextBatch++;
    this.call((link) => {
      const region = link.lend(inputs.reduce((sum, { data }) => sum + aligned(data.length), 0));
      let offset = 0;
      const copied = inputs.map(({ index, shape, data }) => {
        const target = region.bytes.subarray(offset, offset + data.length);
        target.set(data);
        offset += aligned(data.length);
        return { index, shape, data: target };
      });
      watchRelease(region, onRelease);
      link.send({ kind: 'dispatch', batch, model, inputs: copied, outputs, region });
    });
    return batch;
  }

  /** Answers a call with tensors in lent memory. */
  answerCall({ call, batch }: CallMessage, tensors: readonly Tensor[], onRelease: () => void = () => {}): void {
    this.call((link) => {
      const region = link.lend(tensors.reduce((sum, { data }) => sum + aligned(data.length), 0));
      let offset = 0;
      const outputs = tensors.map((tensor) => {
        const data = region.bytes.subarray(offset, offset + tensor.data.length);
        data.set(tensor.data);
        offset += aligned(tensor.data.length);
        return { ...tensor, data };
      });
      watchRelease(region, onRelease);
      link.send({ kind: 'call-answered', call, batch, outputs, region });
    });
  }

  async answer(batch: number): Promise<Answer> {
    const isAnswer = (message: FromWorker): boolean =>
      (message.kind === 'answered' || message.kind === 'failed') && message.batch === batch;
    return (await this.#untilAny(isAnswer)) as Answer;
  }

  async answered(batch: number): Promise<AnsweredMessage> {
    const answer = await this.answer(batch);
    if (answer.kind !== 'answered') throw new Error(`batch ${batch} failed: ${answer.code} ${answer.message}`);
    return answer;
  }

  async failed(batch: number): Promise<FailedMessage> {
    const answer = await this.answer(batch);
    if (answer.kind !== 'failed') throw new Error(`batch ${batch} was answered`);
    return answer;
  }

  call(action: (link: WorkerLink) => void): void {
    this.#isInsideCall = true;
    try {
      action(this.link);
    } finally {
      this.#isInsideCall = false;
    }
  }

  /** Ends the worker and waits for its end. */
  async end(): Promise<void> {
    this.call((link) => link.kill());
    await this.until('gone');
    // A message too many would come in a later turn.
    await new Promise((resolve) => setImmediate(resolve));
  }

  /** Unloads the models that were loaded by `load`. */
  unloadAll(): void {
    for (const model of this.#loaded) this.call((link) => link.send({ kind: 'unload', model }));
    this.#loaded.clear();
  }

  /** Releases what the test left: the next test finds the link as after its start, without the messages of the start. */
  clear(): void {
    for (const region of [...this.#held]) region.release();
    this.forget();
  }

  /** Forgets what was received, for tests of very many batches. */
  forget(): void {
    this.received.length = 0;
  }

  async #untilAny(isAwaited: (message: FromWorker) => boolean): Promise<FromWorker> {
    const past = this.received.find((message) => isAwaited(message) || message.kind === 'gone');
    const message = past ?? (await new Promise<FromWorker>((resolve) => this.#waiting.push({ isAwaited, resolve })));
    if (!isAwaited(message)) throw new Error(`the worker is gone: ${JSON.stringify(message)}`);
    return message;
  }

  #receive(message: FromWorker): void {
    if (this.#isInsideCall) this.violations.push(`${message.kind} was received from inside a call`);
    if (this.received.some(({ kind }) => kind === 'gone')) this.violations.push(`${message.kind} came after gone`);
    this.received.push(message);
    if (message.kind === 'answered' || message.kind === 'call') this.#hold(message.region);
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const waiter of waiting) {
      if (waiter.isAwaited(message) || message.kind === 'gone') waiter.resolve(message);
      else this.#waiting.push(waiter);
    }
  }

  #hold(region: Region): void {
    this.#held.add(region);
    watchRelease(region, () => this.#held.delete(region));
  }
}

function aligned(bytes: number): number {
  return Math.ceil(bytes / 8) * 8;
}

/** Patched on the region itself: a lane may know its regions by identity. */
function watchRelease(region: Region, onRelease: () => void): void {
  const release = region.release.bind(region);
  Object.defineProperty(region, 'release', {
    value: () => {
      release();
      onRelease();
    },
  });
}
