/** Streams over a network that loses connections at any moment, against a server that restarts: every run is a seed. */
import type { InputFrame, StreamServerFrame } from '@millrace/protocol';
import { expect, test } from 'vitest';
import { MillraceError, unreachable } from '../errors/millrace-error.ts';
import { ClientStreamSession } from './stream-session.ts';
import { type Attached, StreamServerDouble } from './testing/stream-server-double.ts';

/** Mulberry32. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

interface SimulatedLink {
  attached: Attached | undefined;
  isAlive: boolean;
}

class Simulation {
  readonly random: () => number;
  readonly server: StreamServerDouble;
  readonly session: ClientStreamSession;
  readonly received: string[] = [];
  readonly inputs: string[];
  gaps = 0;
  connections = 0;
  /** Connections that the server got after they were given up. */
  lateConnections = 0;
  nowMs = 0;
  #link: SimulatedLink | undefined = undefined;
  #events: { atMs: number; run: () => void }[] = [];
  #given = 0;
  /** Inputs go in requests of their own. */
  readonly #isSplit: boolean;
  /** Until then connections are lost. */
  readonly faultsUntilMs: number;

  constructor(seed: number) {
    this.random = randomFrom(seed);
    const credit = { messages: 1 + this.#upTo(8), bytes: 1e6 };
    this.server = new StreamServerDouble({ messages: 1 + this.#upTo(6), bytes: 1e6 });
    this.inputs = Array.from({ length: 1 + this.#upTo(30) }, (_, index) => `i${index + 1}`);
    this.faultsUntilMs = this.#upTo(20_000);
    this.#isSplit = this.random() < 0.5;
    this.session = new ClientStreamSession(
      {
        streamId: 's',
        clientId: 'c',
        context: 'm',
        parameters: {},
        resumeAfter: undefined,
        credit,
        silenceMsMax: 1000,
        answerMsMax: 500,
        openMsMax: 2000,
        resumeMsMax: 1e9,
        backoffMsInitial: 50,
        backoffMsMax: 1000,
        deadlineMs: Number.POSITIVE_INFINITY,
      },
      0,
    );
  }

  #upTo(max: number): number {
    return Math.floor(this.random() * (max + 1));
  }

  #after(delayMs: number, run: () => void): void {
    this.#events.push({ atMs: this.nowMs + delayMs, run });
    this.#events.sort((a, b) => a.atMs - b.atMs);
  }

  run(): void {
    this.#giveInputs();
    this.#takeOutputs();
    this.#disturb();
    for (let steps = 0; this.session.ending === undefined; steps++) {
      if (steps > 100_000) throw new Error('the simulation does not end');
      this.#carryOut();
      const next = this.#events[0]?.atMs ?? Number.POSITIVE_INFINITY;
      const timer = this.session.nextTimeMs;
      this.nowMs = Math.max(this.nowMs, Math.min(next, timer));
      if (next === Number.POSITIVE_INFINITY && timer === next) throw new Error('nothing will ever happen again');
      if (timer <= this.nowMs) this.session.onTime(this.nowMs, this.random());
      else this.#events.shift()?.run();
      // What the server forgets is never more than what the program is done with.
      if (this.server.acknowledged > this.session.handledOutput) throw new Error('acknowledged before it was handled');
      if (this.server.problem !== undefined) throw new Error(this.server.problem);
    }
    this.#drain();
  }

  #giveInputs(): void {
    if (this.#given === this.inputs.length || this.session.ending !== undefined) return;
    if (this.session.hasRoom) {
      const text = this.inputs[this.#given] as string;
      this.#given += 1;
      const endOfInput = this.#given === this.inputs.length;
      this.session.addInput({ payload: { kind: 'text', text }, endOfInput }, this.nowMs);
    }
    this.#after(this.#upTo(600), () => this.#giveInputs());
  }

  #takeOutputs(): void {
    if (this.session.ending !== undefined) return;
    this.#takeOne();
    this.#after(this.#upTo(400), () => this.#takeOutputs());
  }

  #takeOne(): boolean {
    const output = this.session.takeOutput(this.nowMs);
    if (output === undefined) return false;
    if (output.sequence !== this.received.length + 1) throw new Error(`output ${output.sequence} came out of turn`);
    this.received.push(output.payload.kind === 'text' ? output.payload.text : '');
    return true;
  }

  #drain(): void {
    while (this.#takeOne());
  }

  #disturb(): void {
    if (this.nowMs >= this.faultsUntilMs) return;
    const choice = this.random();
    if (choice < 0.2) this.server.restart();
    if (choice < 0.5) this.#loseLink();
    // A connection that is dead without saying so.
    else if (choice < 0.6 && this.#link !== undefined) this.#link.isAlive = false;
    this.#after(this.#upTo(2000), () => this.#disturb());
  }

  #loseLink(): void {
    const link = this.#link;
    if (link === undefined) return;
    link.isAlive = false;
    this.#link = undefined;
    if (link.attached !== undefined) this.server.detach(link.attached);
    this.session.onLinkClosed(unreachable('cut', true), this.nowMs, this.random());
  }

  #carryOut(): void {
    for (const command of this.session.takeCommands()) {
      if (command.kind === 'connect') this.#connect(command.open);
      else if (command.kind === 'close-link') this.#link = undefined;
      else if (this.#isSplit && 'frame' in command && command.frame.kind === 'input') {
        this.#sendBeside(command.frame, command.kind === 'ping');
      } else if (command.kind === 'send' || command.kind === 'ping') {
        const link = this.#link;
        this.#after(this.#delay(), () => {
          if (link?.isAlive === true && link.attached !== undefined) this.server.receive(link.attached, command.frame);
        });
      } else if (command.kind === 'gap') this.gaps += 1;
    }
  }

  /** An input in a request of its own, which arrives whether or not the connection of the outputs is alive. */
  #sendBeside(frame: InputFrame, isPing: boolean): void {
    const link = this.#link;
    this.#after(this.#delay(), () => {
      if (!this.server.isExisting) return;
      const input = this.server.receiveBeside(frame);
      this.#after(this.#delay(), () => {
        if (this.#link === link && !isPing) this.session.onAccepted({ kind: 'accepted', input });
      });
    });
  }

  /** Frames of one direction do not overtake each other: the delay is the same for all of a run. */
  #delay(): number {
    return 5;
  }

  #connect(open: Parameters<StreamServerDouble['attach']>[0]): void {
    this.connections += 1;
    const link: SimulatedLink = { attached: undefined, isAlive: true };
    this.#link = link;
    const deliver = (frame: StreamServerFrame): void =>
      this.#after(this.#delay(), () => {
        if (link.isAlive && this.#link === link) this.session.onFrame(frame, this.nowMs, this.random());
      });
    const onClosed = (error: MillraceError): void => {
      link.isAlive = false;
      if (this.#link !== link) return;
      this.#link = undefined;
      this.session.onLinkClosed(error, this.nowMs, this.random());
    };
    const close = (error: MillraceError): void => this.#after(this.#delay(), () => onClosed(error));
    const isFaulty = this.nowMs < this.faultsUntilMs;
    // Some arrive when the client has given them up and has connected again.
    const delayMs = isFaulty && this.random() < 0.3 ? this.#upTo(5000) : this.#delay();
    this.#after(delayMs, () => {
      if (!link.isAlive) return;
      if (this.#link !== link) this.lateConnections += 1;
      try {
        if (isFaulty && this.random() < 0.2) throw new MillraceError('server-full', 'full');
        link.attached = this.server.attach(open, deliver, close);
      } catch (error) {
        onClosed(error as MillraceError);
        return;
      }
      if (this.#link === link) return;
      // The server learns sooner or later that nobody is there.
      this.#after(this.#upTo(3000), () => this.server.detach(link.attached as Attached));
    });
  }
}

test('every input is applied once and every output handed over once, whatever is lost', () => {
  let gaps = 0;
  let late = 0;
  for (let seed = 1; seed <= 300; seed++) {
    const simulation = new Simulation(seed);
    try {
      simulation.run();
      expect(simulation.session.ending).toMatchObject({ outcome: 'done' });
      expect(simulation.server.applied).toEqual(simulation.inputs);
      expect(simulation.received).toEqual(simulation.server.outputTexts);
    } catch (error) {
      throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error });
    }
    gaps += simulation.gaps;
    late += simulation.lateConnections;
  }
  // It would prove little if nothing was lost, or came late.
  expect(gaps).toBeGreaterThan(300);
  expect(late).toBeGreaterThan(30);
});

test('a seed repeats its run', () => {
  const runs = [7, 7].map((seed) => {
    const simulation = new Simulation(seed);
    simulation.run();
    return [simulation.nowMs, simulation.connections, simulation.gaps];
  });
  expect(runs[0]).toEqual(runs[1]);
});
