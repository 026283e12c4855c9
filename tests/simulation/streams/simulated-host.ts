/** A router that owns the stream: it carries out the actions of the machine, until it dies or gives the stream up. */
import type { LinkFrame, StreamError, StreamMachineAction, StreamMachineEvent } from '@millrace/core';
import type { Appointment } from '../world/timeline.ts';
import type { BentMachine } from './bent-machine.ts';
import type { SimulatedValue } from './reference-run.ts';
import type { ClientFrame, ServerEnd, SimulatedConnection } from './simulated-connection.ts';
import type { JournalOwner, SimulatedLog } from './simulated-journal.ts';
import { SimulatedSteps } from './simulated-steps.ts';
import type { StreamWorld } from './stream-world.ts';

export class SimulatedHost implements JournalOwner, ServerEnd {
  readonly id: number;
  readonly #world: StreamWorld;
  readonly #steps: SimulatedSteps;
  readonly #connections = new Map<number, SimulatedConnection>();
  #machine: BentMachine | undefined;
  #log: SimulatedLog | undefined;
  #timer: Appointment | undefined;
  #current: number | undefined;
  /** It died, or has given the stream up. */
  isGone: boolean = false;

  constructor(id: number, world: StreamWorld) {
    this.id = id;
    this.#world = world;
    this.#steps = new SimulatedSteps(world, (event) => this.handle(event));
  }

  start(log: SimulatedLog, machine: BentMachine): void {
    this.#log = log;
    this.#machine = machine;
    this.#carryOut();
  }

  attach(connection: SimulatedConnection, resumeAfter: number): void {
    const { outputCredit: messages, outputCreditBytes: bytes, isAcknowledging } = this.#world.weather;
    const before = this.#current;
    this.#connections.set(connection.id, connection);
    this.#current = connection.id;
    const credit = { messages, bytes };
    this.#world.referee.noteAcknowledged(resumeAfter);
    this.handle({ kind: 'attached', link: connection.id, resumeAfter, credit, isAcknowledging });
    // A link that is refused changes nothing for the one before.
    if (this.#current === undefined && before !== undefined && this.#connections.has(before)) this.#current = before;
  }

  onFrame(connection: SimulatedConnection, frame: ClientFrame): void {
    const link = connection.id;
    const isHeard = this.#current === link;
    if (frame.kind === 'input') {
      const { payload } = frame.input;
      const input = { ...frame.input, payload: payload && { ...payload, isHeard } };
      this.handle({ kind: 'input', link, input });
    } else if (frame.kind === 'acknowledge') {
      if (isHeard) this.#world.referee.noteAcknowledged(frame.output);
      this.handle({ kind: 'acknowledged', link, output: frame.output, credit: frame.credit });
    } else {
      if (isHeard) this.#world.referee.noteCancelled();
      this.handle({ kind: 'cancelled', link, message: 'the client cancelled the stream' });
    }
  }

  onTaken(connection: SimulatedConnection, output: number): void {
    this.handle({ kind: 'taken', link: connection.id, output, credit: undefined });
  }

  onClosed(connection: SimulatedConnection, _error: StreamError | undefined): void {
    this.#connections.delete(connection.id);
    if (this.#current === connection.id) this.#current = undefined;
    this.handle({ kind: 'detached', link: connection.id });
  }

  onCommitted(number: number): void {
    this.handle({ kind: 'committed', number });
  }

  onRefused(reason: 'full' | 'fenced' | 'unavailable', number: number): void {
    this.handle({ kind: 'append-refused', reason, number });
  }

  /** The process is killed. */
  crash(): void {
    if (this.isGone) return;
    this.#world.note(`router ${this.id} dies`);
    if (this.#current !== undefined) this.#loseClient();
    this.#log?.abandon();
    this.#go();
    for (const connection of this.#connections.values()) connection.cut();
  }

  handle(event: StreamMachineEvent<SimulatedValue>): void {
    if (this.isGone || this.#machine === undefined) return;
    this.#world.noteEvent(this.id, event);
    this.#world.referee.noteEvent(this.id, event, this.#world.timeline.nowMs);
    this.#machine.handle(event, this.#world.timeline.nowMs);
    this.#carryOut();
  }

  #loseClient(): void {
    this.#current = undefined;
    this.#world.referee.noteClientGone(this.#world.timeline.nowMs);
  }

  #go(): void {
    this.isGone = true;
    this.#steps.clear();
    if (this.#timer !== undefined) this.#timer.isCancelled = true;
  }

  #carryOut(): void {
    const machine = this.#machine as BentMachine;
    for (const action of machine.takeActions()) {
      this.#world.noteAction(this.id, action);
      this.#world.referee.noteAction(this.id, action);
      this.#do(action);
    }
    this.#world.referee.checkBounds(this.id, machine.counts(), this.#steps.running);
  }

  #do(action: StreamMachineAction<SimulatedValue>): void {
    const { timeline } = this.#world;
    switch (action.kind) {
      case 'append':
      case 'idle':
      case 'trim':
        this.#log?.add(action);
        break;
      case 'send':
        this.#send(action.link, action.frame);
        break;
      case 'run':
        this.#steps.run(action);
        break;
      case 'grant':
        this.#steps.grant(action.step, action.outputsMax);
        break;
      case 'cancel-step':
        this.#steps.cancel(action.step);
        break;
      case 'close-link':
        this.#connections.get(action.link)?.closeByServer(action.error);
        this.#connections.delete(action.link);
        if (this.#current === action.link) this.#loseClient();
        break;
      case 'wake-at':
        if (this.#timer !== undefined) this.#timer.isCancelled = true;
        this.#timer = timeline.at(action.at, () => this.handle({ kind: 'tick' }));
        break;
      case 'parked':
        this.#log?.close();
        this.#go();
        this.#world.keep(action.resumableUntil);
        break;
      case 'finished':
        this.#world.remove();
        this.#log?.close();
        this.#go();
        break;
      case 'release':
        this.#log?.close();
        this.#go();
        this.#world.startLater();
        break;
    }
  }

  #send(link: number, frame: LinkFrame<SimulatedValue>): void {
    const connection = this.#connections.get(link);
    connection?.toClient(frame);
    this.#world.referee.checkUnsent(connection?.unsentOutputs ?? 0);
    if (frame.kind === 'ended' && this.#current === link) this.#current = undefined;
  }
}
