/** The clients of one durable stream, and their connections to the process that has the stream host. */
import type { StreamError } from '@millrace/core';
import { InferenceError, neverCancelled, type OpenFrame } from '@millrace/protocol';
import type { AttachedLink, StreamGateway } from '@millrace/router/internal';
import type { PlannedInput } from '../streams/reference-run.ts';
import { type ClientSurroundings, SimulatedClient } from '../streams/simulated-client.ts';
import {
  type ClientFrame,
  type ConnectionEnd,
  type ConnectionWeather,
  SimulatedConnection,
} from '../streams/simulated-connection.ts';
import type { SimulationRandom } from '../world/random.ts';
import type { SimulatedWorld } from '../world/simulated-world.ts';
import type { StreamHostWeather } from '../world/stream-host-weather.ts';
import type { Timeline } from '../world/timeline.ts';
import { claim } from '../world/truth.ts';
import type { HostProcess } from './host-process.ts';
import type { JudgedStream } from './judged-stream.ts';

/** A process that clients can reach. */
export interface ReachableHost {
  readonly process: HostProcess;
  readonly gateway: StreamGateway;
  readonly connections: Set<SimulatedConnection>;
}

export interface StreamClientsParts {
  readonly world: SimulatedWorld;
  readonly weather: StreamHostWeather;
  readonly stream: JudgedStream;
  /** Undefined: there is none now. */
  readonly takeHost: () => ReachableHost | undefined;
  readonly newLinkId: () => number;
}

/** A client whose stream was never opened tries no more often. */
const refusalsMax = 20;

export class StreamClients implements ClientSurroundings {
  readonly #parts: StreamClientsParts;
  readonly timeline: Timeline;
  readonly random: SimulationRandom;
  readonly weather: ClientSurroundings['weather'] & ConnectionWeather;
  readonly referee: ClientSurroundings['referee'];
  readonly clients: SimulatedClient[] = [];
  #refusals = 0;

  constructor(parts: StreamClientsParts) {
    this.#parts = parts;
    const { world, stream, weather } = parts;
    this.timeline = world.timeline;
    this.random = world.streamRandom;
    this.referee = stream.referee;
    this.weather = {
      ...stream.plan.weather,
      linkMsMax: weather.linkMsMax,
      get faultsUntil() {
        return world.isCalm ? 0 : Number.POSITIVE_INFINITY;
      },
    };
  }

  start(): void {
    const { timeline, random } = this;
    const { weather, leavesAfterMs, cancelsAfterMs } = this.#parts.stream.plan;
    for (let id = 0; id < weather.clients; id++) {
      const client = new SimulatedClient(id, this);
      this.clients.push(client);
      timeline.after(id === 0 ? 0 : random.integer(0, 1000), () => client.connect());
    }
    const [first] = this.clients;
    if (leavesAfterMs < Number.POSITIVE_INFINITY) {
      timeline.after(leavesAfterMs, () => {
        for (const client of this.clients) client.leave();
      });
    }
    if (cancelsAfterMs < Number.POSITIVE_INFINITY) timeline.after(cancelsAfterMs, () => first?.cancel());
  }

  planned(sequence: number): PlannedInput {
    return this.#parts.stream.planned(sequence);
  }

  inputPauseMs(): number {
    const { inputPauseMsMax } = this.#parts.weather;
    return inputPauseMsMax === 0 ? 0 : this.random.integer(0, inputPauseMsMax);
  }

  connect(client: SimulatedClient, resumeAfter: number): SimulatedConnection | undefined {
    const { world, stream, takeHost, newLinkId } = this.#parts;
    if (world.isEnding || stream.hasExpired) return undefined;
    const host = takeHost();
    const end = new ServerEnd(this.#parts);
    const connection = new SimulatedConnection(newLinkId(), client, end, this);
    host?.connections.add(connection);
    this.timeline.after(this.random.next() * this.weather.linkMsMax, () => {
      // Once its life is over its id is free.
      if (host === undefined || host.process.isDead || stream.hasExpired) connection.cut();
      else if (connection.isOpen) end.attach(host, connection, resumeAfter);
    });
    return connection;
  }

  outcomeOf({ code }: StreamError): string | undefined {
    const { world } = this.#parts;
    if (world.isEnding) return 'the server ended';
    this.#refusals += 1;
    if (['stream-not-found', 'stream-conflict', 'stream-expired'].includes(code)) return code;
    // The model may be loaded later, and another stream may end.
    return this.#refusals > refusalsMax && !this.#parts.stream.isOpened ? code : undefined;
  }
}

/** A connection as a process holds it. */
class ServerEnd implements ConnectionEnd<ClientFrame> {
  readonly #parts: StreamClientsParts;
  #host: ReachableHost | undefined;
  #link: AttachedLink | undefined;
  #isLinked: boolean = false;
  #hasJoined: boolean = false;

  constructor(parts: StreamClientsParts) {
    this.#parts = parts;
  }

  attach(host: ReachableHost, connection: SimulatedConnection, resumeAfter: number): void {
    const { stream, world } = this.#parts;
    const { plan, referee } = stream;
    this.#host = host;
    const { outputCredit: messages, outputCreditBytes: bytes } = plan.weather;
    const isResume = plan.resumesByMode && resumeAfter > 0;
    const open: OpenFrame = {
      kind: 'open',
      streamId: plan.id,
      mode: isResume ? 'resume' : 'either',
      context: isResume ? '' : plan.context,
      parameters: {},
      resumeAfter,
      protocolVersions: [1],
      ...(plan.isAcknowledging ? { outputCredit: { messages, bytes } } : {}),
    };
    world.note('stream is asked for', { ...open, link: connection.id });
    referee.noteAcknowledged(resumeAfter);
    this.#isLinked = true;
    stream.linked(host);
    this.#link = host.gateway.attach(
      open,
      plan.caller,
      { isAcknowledging: plan.isAcknowledging },
      {
        onFrame: (frame) => {
          world.note(
            `link ${connection.id} is sent`,
            frame.kind === 'output' ? { ...frame, payload: undefined } : frame,
          );
          world.judge(() => {
            const read = stream.frameFrom(frame);
            if (frame.kind === 'opened') this.#join(host);
            referee.checkSent(connection.id, read);
            connection.toClient(read);
          });
        },
        onClosed: (error) => {
          if (error !== undefined && !host.process.isDead) {
            world.note(`link ${connection.id} is closed`, error.code);
            world.count(`streams: closed ${error.code}`);
            world.judge(() => {
              referee.noteClosed(connection.id, error.code);
              stream.claimClosedJustly(error);
            });
            connection.closeByServer({ code: error.code, message: error.message });
          }
          this.#unlink();
        },
      },
    );
  }

  onFrame(_connection: SimulatedConnection, frame: ClientFrame): void {
    const { stream } = this.#parts;
    const { referee } = stream;
    if (this.#link === undefined || this.#host?.process.isDead !== false) return;
    if (frame.kind === 'input') this.#input(frame.input.sequence);
    else if (frame.kind === 'acknowledge') {
      const { output, credit } = frame;
      referee.noteAcknowledged(output);
      if (stream.isAcknowledging) this.#link.acknowledge({ kind: 'acknowledge', output, outputCredit: credit });
      else this.#link.taken(output);
    } else {
      if (this.#isLinked) referee.noteCancelled();
      this.#link.cancel({ kind: 'cancel', reason: '' });
    }
  }

  onTaken(_connection: SimulatedConnection, output: number): void {
    // Of others it renews the credit, which they say themselves when they have handled the output.
    if (this.#parts.stream.isAcknowledging && this.#host?.process.isDead === false) this.#link?.taken(output);
  }

  onClosed(): void {
    this.#unlink();
    if (this.#host?.process.isDead === false) this.#link?.detach();
  }

  #join(host: ReachableHost): void {
    if (!this.#isLinked || this.#hasJoined) return;
    this.#hasJoined = true;
    this.#parts.stream.joined(host);
  }

  #unlink(): void {
    const { stream } = this.#parts;
    if (this.#isLinked && this.#host !== undefined) {
      stream.unlinked(this.#host);
      if (this.#hasJoined) stream.parted(this.#host);
    }
    this.#isLinked = false;
  }

  #input(sequence: number): void {
    const { stream, world } = this.#parts;
    const { plan } = stream;
    const { payload, isLast: endOfInput, eventTime: eventTimeMs } = stream.planned(sequence);
    const frame = {
      kind: 'input' as const,
      sequence,
      payload: payload === undefined ? ({ kind: 'none' } as const) : stream.payload(sequence),
      endOfInput,
      ...(eventTimeMs === undefined ? {} : { eventTimeMs }),
    };
    if (!plan.weather.isUnordered) {
      this.#link?.input(frame);
      return;
    }
    // A call of its own.
    this.#host?.gateway.input(plan.id, frame, plan.caller, neverCancelled).then(
      ({ input }) => world.judge(() => stream.referee.checkAccepted(input)),
      (error: unknown) => world.judge(() => this.#claimRefusedJustly(error)),
    );
  }

  #claimRefusedJustly(error: unknown): void {
    const { stream } = this.#parts;
    if (!(error instanceof InferenceError)) throw error;
    const hasEnded = stream.referee.ending !== undefined;
    const isOfEnding = error.code === (stream.referee.ending?.error?.code ?? 'input-after-end');
    claim(error.code !== 'internal', `an input of ${stream.plan.id} is refused: ${error.message}`);
    if (!hasEnded || !isOfEnding) stream.claimClosedJustly(error);
  }
}
