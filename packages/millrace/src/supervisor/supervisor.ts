/**
 * Keeps a router running. It holds what must outlive a router (its listening sockets, the folder for temporary files),
 * passes signals on, and decides nothing about requests: it runs no code of the router.
 */
import type { BeginMessage, HeldFolder, ToRouter, ToSupervisor } from './messages.ts';
import { type AfterEnd, afterRouterEnd, exitCodeOf, newRouterRecord, type RouterEnd } from './router-end.ts';

export type PassedSignal = 'SIGINT' | 'SIGTERM' | 'SIGHUP';

/** A listening socket as the channel between processes passes it: this process never accepts connections from it. */
export interface ListeningHandle {
  readonly fd: number;
  close(): void;
}

export interface RouterListener {
  onMessage(message: ToSupervisor, handle: ListeningHandle | undefined): void;
  onEnd(end: Pick<RouterEnd, 'exitCode' | 'signal'>): void;
}

export interface RouterProcess {
  send(message: ToRouter): void;
  kill(signal: PassedSignal): void;
}

export interface SupervisorParts {
  /** `descriptors` are open in the router from `firstDescriptor` on. */
  readonly startRouter: (descriptors: readonly number[], listener: RouterListener) => RouterProcess;
  readonly firstDescriptor: number;
  /** Whose lock is the first of the descriptors. */
  readonly folder: (Omit<HeldFolder, 'lockDescriptor'> & { readonly descriptor: number }) | undefined;
  /** Calls back after so many milliseconds; returns a function that cancels. */
  readonly after: (ms: number, call: () => void) => () => void;
  /** In [0, 1). */
  readonly random: () => number;
  /** Milliseconds on a clock that only goes forward. */
  readonly now: () => number;
  /** Writes one line to standard error. */
  readonly complain: (text: string) => void;
  /** Called once, with the exit code of the server. */
  readonly onEnd: (exitCode: number) => void;
}

export class Supervisor {
  readonly #parts: SupervisorParts;
  readonly #handles = new Map<string, ListeningHandle>();
  #record = newRouterRecord;
  #restarts = 0;
  #router: RouterProcess | undefined;
  #listeningSince: number | undefined;
  #isStopping: boolean = false;
  #isEnding: boolean = false;
  #hasReloadWaiting: boolean = false;
  #cancelPause: () => void = () => {};

  constructor(parts: SupervisorParts) {
    this.#parts = parts;
  }

  start(): void {
    this.#startRouter(undefined);
  }

  /** Passes a signal on to the router. */
  pass(signal: PassedSignal): void {
    if (signal === 'SIGHUP' && this.#listeningSince === undefined) {
      // A router that is starting may not handle signals yet, and may have read its configuration already.
      this.#hasReloadWaiting = true;
      return;
    }
    if (signal !== 'SIGHUP') this.#isStopping = true;
    if (this.#router !== undefined) this.#router.kill(signal);
    else if (this.#isStopping) {
      this.#cancelPause();
      this.#parts.onEnd(0);
    }
  }

  #startRouter(restart: BeginMessage['restart']): void {
    const { folder, firstDescriptor } = this.#parts;
    const listeners = [...this.#handles];
    const descriptors = [...(folder === undefined ? [] : [folder.descriptor]), ...listeners.map(([, { fd }]) => fd)];
    const firstListener = firstDescriptor + (folder === undefined ? 0 : 1);
    const router = this.#parts.startRouter(descriptors, {
      onMessage: (message, handle) => this.#onMessage(message, handle),
      onEnd: (end) => this.#onRouterEnd(end),
    });
    this.#router = router;
    router.send({
      kind: 'begin',
      folder: folder && { path: folder.path, firstPath: folder.firstPath, lockDescriptor: firstDescriptor },
      listeners: listeners.map(([key], index) => ({ key, descriptor: firstListener + index })),
      restarts: this.#restarts,
      restart,
    });
  }

  #onMessage(message: ToSupervisor, handle: ListeningHandle | undefined): void {
    switch (message.kind) {
      case 'listener':
        if (handle !== undefined) this.#keep(message.key, handle);
        break;
      case 'listening':
        for (const key of this.#handles.keys()) if (!message.keys.includes(key)) this.#close(key);
        this.#listeningSince = this.#parts.now();
        this.#router?.send({ kind: 'kept' });
        if (this.#hasReloadWaiting) this.#router?.kill('SIGHUP');
        this.#hasReloadWaiting = false;
        break;
      case 'release':
        this.#isStopping = true;
        for (const key of this.#handles.keys()) this.#close(key);
        this.#router?.send({ kind: 'released' });
        break;
      case 'ending':
        this.#isEnding = true;
    }
  }

  /** A router that was given the socket sends it back: one copy is enough. */
  #keep(key: string, handle: ListeningHandle): void {
    this.#close(key);
    this.#handles.set(key, handle);
  }

  #close(key: string): void {
    this.#handles.get(key)?.close();
    this.#handles.delete(key);
  }

  #onRouterEnd(end: Pick<RouterEnd, 'exitCode' | 'signal'>): void {
    const listenedMs = this.#listeningSince === undefined ? undefined : this.#parts.now() - this.#listeningSince;
    const isMeant = this.#isStopping || this.#isEnding;
    this.#router = undefined;
    this.#listeningSince = undefined;
    const after = afterRouterEnd({ ...end, isMeant, listenedMs }, this.#record, this.#parts.random());
    if (after.kind === 'restart') this.#restart(end, after);
    else {
      if (after.kind === 'give-up') this.#parts.complain(givingUpText(end, after.crashes));
      this.#parts.onEnd(exitCodeOf(end));
    }
  }

  #restart(end: Pick<RouterEnd, 'exitCode' | 'signal'>, after: Extract<AfterEnd, { kind: 'restart' }>): void {
    const { cause, pauseMs, record } = after;
    this.#record = record;
    this.#restarts += 1;
    const start = (): void => this.#startRouter({ cause, exitCode: end.exitCode, signal: end.signal, pauseMs });
    if (pauseMs === 0) start();
    else this.#cancelPause = this.#parts.after(pauseMs, start);
  }
}

function givingUpText({ exitCode, signal }: Pick<RouterEnd, 'exitCode' | 'signal'>, crashes: number): string {
  const how = signal === null ? `exit code ${exitCode}` : `signal ${signal}`;
  return `the router crashed ${crashes} times in a row, at last with ${how}, and is not restarted again; the errors above say why`;
}
