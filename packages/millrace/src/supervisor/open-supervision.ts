/** The router's end of the channel to its supervisor. */
import { closeSync } from 'node:fs';
import type { BeginMessage, ToRouter, ToSupervisor } from './messages.ts';
import type { Supervision } from './supervision.ts';

/** The part of `process` that a supervised router uses. */
export interface SupervisorChannel {
  readonly connected: boolean;
  on(event: 'message', listener: (message: unknown) => void): unknown;
  on(event: 'disconnect', listener: () => void): unknown;
  send?(message: unknown, handle: unknown, options: undefined, onSent: () => void): boolean;
}

/** How often the channel is checked beside its event. */
const checkMs = 500;

/** Resolves with the supervisor's first message. `onGone`: the supervisor has ended without its router. */
export function openSupervision(channel: SupervisorChannel, onGone: () => void): Promise<Supervision> {
  return new Promise((resolve) => {
    let link: SupervisorLink | undefined;
    channel.on('disconnect', onGone);
    // Node emits no such event when the other side ends before it has acknowledged a handle.
    const timer = setInterval(() => {
      if (channel.connected) return;
      clearInterval(timer);
      onGone();
    }, checkMs);
    timer.unref();
    channel.on('message', (message) => {
      const told = message as ToRouter;
      if (told.kind === 'begin') {
        link = new SupervisorLink(channel, told);
        resolve(link);
      } else link?.answered();
    });
  });
}

class SupervisorLink implements Supervision {
  readonly restarts: number;
  readonly restart: BeginMessage['restart'];
  readonly folder: BeginMessage['folder'];
  readonly #channel: SupervisorChannel;
  readonly #listeners: Map<string, number>;
  #onAnswered: () => void = () => {};

  constructor(channel: SupervisorChannel, { restarts, restart, folder, listeners }: BeginMessage) {
    this.#channel = channel;
    this.restarts = restarts;
    this.restart = restart;
    this.folder = folder;
    this.#listeners = new Map(listeners.map(({ key, descriptor }) => [key, descriptor]));
  }

  takeListener(key: string): number | undefined {
    const descriptor = this.#listeners.get(key);
    this.#listeners.delete(key);
    return descriptor;
  }

  keepListeners(handles: ReadonlyMap<string, unknown>): Promise<void> {
    for (const [key, handle] of handles) this.#send({ kind: 'listener', key }, handle);
    for (const descriptor of this.#listeners.values()) closeSync(descriptor);
    this.#listeners.clear();
    return this.#ask({ kind: 'listening', keys: [...handles.keys()] });
  }

  releaseListeners(): Promise<void> {
    return this.#ask({ kind: 'release' });
  }

  answered(): void {
    this.#onAnswered();
  }

  announceEnd(onAnnounced: () => void): void {
    this.#send({ kind: 'ending' }, undefined, onAnnounced);
  }

  /** One question at a time: sockets are released after they were kept. */
  #ask(question: ToSupervisor): Promise<void> {
    return new Promise((resolve) => {
      this.#onAnswered = resolve;
      this.#send(question);
    });
  }

  #send(message: ToSupervisor, handle?: unknown, onSent: () => void = () => {}): void {
    this.#channel.send?.(message, handle, undefined, onSent);
  }
}
