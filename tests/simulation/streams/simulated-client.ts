/** A client that follows the protocol: it sends inputs within its credit, handles outputs in order, and resumes. */
import type { FlowCredit, LinkFrame, StreamError } from '@millrace/core';
import type { SimulationRandom } from '../world/random.ts';
import type { Timeline } from '../world/timeline.ts';
import type { PlannedInput, SimulatedValue } from './reference-run.ts';
import type { ConnectionEnd, SimulatedConnection } from './simulated-connection.ts';
import type { StreamReferee } from './stream-referee.ts';
import type { StreamWeather } from './stream-weather.ts';

type ServerFrame = LinkFrame<SimulatedValue>;
type OutputFrame = ServerFrame & { kind: 'output' };

/** The world as a client sees it. */
export interface ClientSurroundings {
  readonly timeline: Timeline;
  readonly random: SimulationRandom;
  readonly weather: Pick<
    StreamWeather,
    'clients' | 'consumeMsMax' | 'inputs' | 'isUnordered' | 'outputCredit' | 'outputCreditBytes'
  >;
  readonly referee: Pick<StreamReferee, 'checkEnded' | 'checkReceived' | 'fail'>;
  planned(sequence: number): PlannedInput;
  /** How long a client waits after an input that it sent. */
  inputPauseMs(): number;
  /** Undefined: there is no such stream any more. */
  connect(client: SimulatedClient, resumeAfter: number): SimulatedConnection | undefined;
  /** Why a client whose link is closed with this error does nothing more; undefined: it connects again. */
  outcomeOf(error: StreamError): string | undefined;
}

export class SimulatedClient implements ConnectionEnd<ServerFrame> {
  readonly id: number;
  readonly #world: ClientSurroundings;
  #connection: SimulatedConnection | undefined;
  #isOpened: boolean = false;
  /** Frames of this connection that are not handled yet. */
  #unhandled: (OutputFrame | (ServerFrame & { kind: 'ended' }))[] = [];
  #received = 0;
  #handled = 0;
  #accepted = 0;
  #sentInput = 0;
  #creditTo = 0;
  #creditBytes = 0;
  /** The output that the last credit counts from, and bytes received after it. */
  #creditFrom = 0;
  #isHandling: boolean = false;
  #isPausing: boolean = false;
  #superseded = 0;
  /** Why it does nothing more; undefined: it goes on. */
  outcome: string | undefined;

  constructor(id: number, world: ClientSurroundings) {
    this.id = id;
    this.#world = world;
  }

  connect(): void {
    if (this.outcome !== undefined || this.#connection !== undefined) return;
    this.#isOpened = false;
    this.#unhandled = [];
    this.#received = this.#handled;
    this.#creditFrom = this.#handled;
    const connection = this.#world.connect(this, this.#handled);
    if (connection === undefined) this.#stop('stream-not-found');
    else this.#connection = connection;
  }

  cut(): void {
    this.#connection?.cut();
  }

  /** It never comes back. */
  leave(): void {
    this.#stop('left');
    this.#connection?.closeByClient();
    this.#connection = undefined;
  }

  cancel(): void {
    this.#connection?.toServer({ kind: 'cancel' });
  }

  onFrame(connection: SimulatedConnection, frame: ServerFrame): void {
    if (connection !== this.#connection) return;
    const { referee } = this.#world;
    if (frame.kind === 'opened') {
      if (this.#isOpened) referee.fail('a link got opened twice');
      if (frame.nextOutput !== this.#handled + 1) referee.fail('opened names another output than the next');
      this.#isOpened = true;
      this.#sentInput = frame.acceptedInput;
      this.#noteAccepted(frame.acceptedInput, frame.inputCredit);
      this.#resendLater(connection);
      return;
    }
    if (!this.#isOpened) referee.fail(`a link got ${frame.kind} before opened`);
    if (frame.kind === 'accepted') this.#noteAccepted(frame.acceptedInput, frame.inputCredit);
    if (frame.kind === 'output') this.#receive(frame);
    if (frame.kind === 'ended') this.#unhandled.push(frame);
    this.#handleNext(connection);
  }

  onClosed(connection: SimulatedConnection, error: StreamError | undefined): void {
    if (connection !== this.#connection) return;
    this.#connection = undefined;
    const { referee, weather, random } = this.#world;
    if (error?.code === 'stream-superseded') this.#superseded += 1;
    if (error?.code === 'stream-superseded' && this.id > 0) this.#stop('stream-superseded');
    const isAlone = weather.clients === 1;
    if (error?.code === 'output-expired') {
      if (isAlone) referee.fail(`a client that resumes where it stopped was refused: ${error.message}`);
      this.#stop('output-expired');
    }
    if (error?.code === 'invalid-request') referee.fail(`a client within the protocol was refused: ${error.message}`);
    const outcome = error && this.#world.outcomeOf(error);
    if (outcome !== undefined) this.#stop(outcome);
    this.#world.timeline.after(random.integer(1, this.#superseded > 3 ? 3_000 : 500), () => this.connect());
  }

  #stop(outcome: string): void {
    this.outcome ??= outcome;
  }

  #noteAccepted(input: number, credit: FlowCredit): void {
    if (input < this.#accepted && this.#accepted > 0) this.#world.referee.fail(`accepted goes back to input ${input}`);
    if (credit.messages < 0 || credit.bytes < 0) this.#world.referee.fail(`a credit of ${credit.messages} messages`);
    this.#accepted = input;
    this.#creditTo = input + credit.messages;
    this.#creditBytes = credit.bytes;
    this.#sendInputs();
  }

  #sendInputs(): void {
    if (this.#isPausing || !this.#isOpened) return;
    const { weather } = this.#world;
    let bytes = 0;
    const bytesOf = (sequence: number): number => this.#world.planned(sequence).payload?.byteLength ?? 0;
    for (let sequence = this.#accepted + 1; sequence <= this.#sentInput; sequence++) bytes += bytesOf(sequence);
    while (this.#sentInput < Math.min(weather.inputs, this.#creditTo)) {
      bytes += bytesOf(this.#sentInput + 1);
      if (bytes > this.#creditBytes) return;
      this.#sentInput += 1;
      this.#sendInput(this.#sentInput);
      const pauseMs = this.#world.inputPauseMs();
      if (pauseMs > 0) {
        this.#pauseInputs(pauseMs);
        return;
      }
    }
  }

  #pauseInputs(ms: number): void {
    this.#isPausing = true;
    this.#world.timeline.after(ms, () => {
      this.#isPausing = false;
      this.#sendInputs();
    });
  }

  #sendInput(sequence: number): void {
    const input = this.#world.planned(sequence);
    this.#connection?.toServer({ kind: 'input', input: { sequence, ...input, deadlineAt: Number.POSITIVE_INFINITY } });
  }

  /** Calls may fail: what is not accepted after a while is sent again. */
  #resendLater(connection: SimulatedConnection): void {
    if (!this.#world.weather.isUnordered) return;
    this.#world.timeline.after(700, () => {
      if (connection !== this.#connection || !connection.isOpen || this.outcome !== undefined) return;
      for (let sequence = this.#accepted + 1; sequence <= this.#sentInput; sequence++) this.#sendInput(sequence);
      this.#resendLater(connection);
    });
  }

  #receive(frame: OutputFrame): void {
    const { referee, weather } = this.#world;
    const { output } = frame;
    if (output.sequence !== this.#received + 1) {
      referee.fail(`client ${this.id} got output ${output.sequence} after output ${this.#received}`);
    }
    referee.checkReceived(output);
    this.#received = output.sequence;
    this.#unhandled.push(frame);
    if (output.sequence > this.#creditFrom + weather.outputCredit) referee.fail('an output is beyond the credit');
    const lastBytes = output.payload?.byteLength ?? 0;
    let bytes = 0;
    for (const unhandled of this.#unhandled) {
      if (unhandled.kind === 'output') bytes += unhandled.output.payload?.byteLength ?? 0;
    }
    // One output may be larger than the credit.
    if (bytes > lastBytes && bytes > weather.outputCreditBytes)
      referee.fail('outputs are beyond the bytes of the credit');
  }

  #handleNext(connection: SimulatedConnection): void {
    if (this.#isHandling || this.#unhandled.length === 0) return;
    this.#isHandling = true;
    const { timeline, random, weather } = this.#world;
    timeline.after(random.next() * weather.consumeMsMax, () => {
      this.#isHandling = false;
      if (connection === this.#connection) this.#handleFrame(connection);
      else if (this.#connection !== undefined) this.#handleNext(this.#connection);
    });
  }

  #handleFrame(connection: SimulatedConnection): void {
    const frame = this.#unhandled.shift();
    if (frame === undefined) return;
    if (frame.kind === 'ended') {
      this.#world.referee.checkEnded(frame, this.#handled);
      this.#stop(frame.outcome);
      connection.closeByClient();
      return;
    }
    this.#handled = frame.output.sequence;
    const { outputCredit: messages, outputCreditBytes: bytes } = this.#world.weather;
    if (this.#unhandled.length === 0 || this.#handled - this.#creditFrom >= messages / 2) {
      this.#creditFrom = this.#handled;
      connection.toServer({ kind: 'acknowledge', output: this.#handled, credit: { messages, bytes } });
    }
    this.#handleNext(connection);
  }
}
