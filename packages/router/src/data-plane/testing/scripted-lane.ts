/** A lane whose workers are scripted by the test, and whose regions count their releases. */
import {
  type BatchTensor,
  copyOf,
  type DispatchMessage,
  type FromWorker,
  type Lane,
  type Region,
  type ToWorker,
  type WorkerLink,
} from '@millrace/protocol';

export class CountedRegion implements Region {
  readonly bytes: Uint8Array;
  releases = 0;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }

  release(): void {
    this.releases += 1;
  }
}

export class ScriptedLane implements Lane {
  readonly name = 'local';
  readonly life = 'started';
  readonly links: ScriptedLink[] = [];
  /** Every region that was lent by a link or came with an answer. */
  readonly regions: CountedRegion[] = [];

  open(receive: (message: FromWorker) => void): ScriptedLink {
    const link = new ScriptedLink(this, this.links.length + 1, receive);
    this.links.push(link);
    return link;
  }

  get last(): ScriptedLink {
    const link = this.links.at(-1);
    if (link === undefined) throw new Error('no worker was started');
    return link;
  }

  region(bytes: number): CountedRegion {
    const region = new CountedRegion(new Uint8Array(bytes));
    this.regions.push(region);
    return region;
  }

  /** How often each region was released: once each when nothing leaks. */
  releases(): readonly number[] {
    return this.regions.map(({ releases }) => releases);
  }
}

/** Keeps the contract of a link: it releases the regions of a message once the worker has answered, failed or exited. */
export class ScriptedLink implements WorkerLink {
  readonly identity = undefined;
  readonly pid: number;
  readonly sent: ToWorker[] = [];
  readonly calls: ('stop' | 'kill')[] = [];
  readonly #lane: ScriptedLane;
  readonly #receive: (message: FromWorker) => void;
  readonly #inFlight: DispatchMessage[] = [];
  #isGone: boolean = false;

  constructor(lane: ScriptedLane, pid: number, receive: (message: FromWorker) => void) {
    this.#lane = lane;
    this.pid = pid;
    this.#receive = receive;
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** Batches sent and not answered, oldest first: the first of them runs. */
  get inFlight(): readonly DispatchMessage[] {
    return this.#inFlight;
  }

  lend(bytes: number): Region {
    return this.#lane.region(bytes);
  }

  send(message: ToWorker): void {
    this.sent.push(message);
    if (message.kind !== 'dispatch') return;
    if (this.#isGone) message.region.release();
    else this.#inFlight.push(message);
  }

  stop(): void {
    this.calls.push('stop');
  }

  kill(): void {
    this.calls.push('kill');
  }

  says(message: FromWorker): void {
    if (this.#isGone) throw new Error('a worker that has exited sends nothing');
    this.#receive(message);
  }

  /** Loads every model it was told to. */
  loads(): void {
    for (const message of this.sent) {
      if (message.kind === 'load') this.says({ kind: 'ready', model: message.spec.model, loadMs: 3, residentBytes: 1 });
    }
  }

  /** Answers the oldest batch: each input is returned as the output of the same position, unless outputs are given. */
  answers(outputs?: readonly BatchTensor[]): CountedRegion {
    const dispatch = this.#ended();
    const region = this.#lane.region(0);
    const echoed = dispatch.inputs.map(({ index, shape, data }) => ({ index, shape, data: copyOf(data) }));
    this.says({ kind: 'answered', batch: dispatch.batch, outputs: outputs ?? echoed, region, runMicros: 500 });
    return region;
  }

  fails(code: 'inference-failed' | 'cancelled' | 'unknown-model', message: string): void {
    this.says({ kind: 'failed', batch: this.#ended().batch, code, message });
  }

  dies(reason = 'it died'): void {
    if (this.#isGone) throw new Error('the worker has exited already');
    this.#isGone = true;
    for (const { region } of this.#inFlight.splice(0)) region.release();
    this.#receive({ kind: 'gone', reason });
  }

  #ended(): DispatchMessage {
    const dispatch = this.#inFlight.shift();
    if (dispatch === undefined) throw new Error('the worker has nothing to answer');
    dispatch.region.release();
    return dispatch;
  }
}
