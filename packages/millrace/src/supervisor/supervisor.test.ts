import { expect, test } from 'vitest';
import type { BeginMessage, ToRouter } from './messages.ts';
import { type ListeningHandle, type RouterListener, Supervisor } from './supervisor.ts';

class RouterDouble {
  readonly messages: ToRouter[] = [];
  readonly signals: string[] = [];
  readonly descriptors: readonly number[];
  readonly listener: RouterListener;

  constructor(descriptors: readonly number[], listener: RouterListener) {
    this.descriptors = descriptors;
    this.listener = listener;
  }

  get begin(): BeginMessage {
    return this.messages[0] as BeginMessage;
  }

  send(message: ToRouter): void {
    this.messages.push(message);
  }

  kill(signal: string): void {
    this.signals.push(signal);
  }

  listen(handles: Readonly<Record<string, ListeningHandle>>): void {
    for (const [key, handle] of Object.entries(handles)) this.listener.onMessage({ kind: 'listener', key }, handle);
    this.listener.onMessage({ kind: 'listening', keys: Object.keys(handles) }, undefined);
  }

  die(signal: NodeJS.Signals): void {
    this.listener.onEnd({ exitCode: null, signal });
  }

  crash(): void {
    this.listener.onEnd({ exitCode: 1, signal: null });
  }
}

class HandleDouble implements ListeningHandle {
  readonly fd: number;
  isOpen = true;

  constructor(fd: number) {
    this.fd = fd;
  }

  close(): void {
    this.isOpen = false;
  }
}

function supervise({ hasFolder = false } = {}) {
  const routers: RouterDouble[] = [];
  const exits: number[] = [];
  const complaints: string[] = [];
  const pauses: { ms: number; call: () => void; isCancelled: boolean }[] = [];
  const supervisor = new Supervisor({
    startRouter: (descriptors, listener) => {
      const router = new RouterDouble(descriptors, listener);
      routers.push(router);
      return router;
    },
    firstDescriptor: 4,
    folder: hasFolder ? { path: '/tmp/f', firstPath: '/tmp/.f', descriptor: 18 } : undefined,
    after: (ms, call) => {
      const pause = { ms, call, isCancelled: false };
      pauses.push(pause);
      return () => {
        pause.isCancelled = true;
      };
    },
    random: () => 1,
    now: () => 0,
    complain: (text) => void complaints.push(text),
    onEnd: (code) => void exits.push(code),
  });
  supervisor.start();
  const last = (): RouterDouble => routers.at(-1) as RouterDouble;
  return { supervisor, routers, last, exits, complaints, pauses };
}

test('a router that was killed is followed by one with its sockets and folder, which is told why', () => {
  const { last, routers } = supervise({ hasFolder: true });
  expect(last().descriptors).toEqual([18]);
  expect(last().begin).toMatchObject({ listeners: [], restarts: 0, restart: undefined });
  last().listen({ http: new HandleDouble(20), grpc: new HandleDouble(21) });
  last().die('SIGKILL');
  expect(routers).toHaveLength(2);
  expect(last().descriptors).toEqual([18, 20, 21]);
  expect(last().begin).toEqual({
    kind: 'begin',
    folder: { path: '/tmp/f', firstPath: '/tmp/.f', lockDescriptor: 4 },
    listeners: [
      { key: 'http', descriptor: 5 },
      { key: 'grpc', descriptor: 6 },
    ],
    restarts: 1,
    restart: { cause: 'killed', exitCode: null, signal: 'SIGKILL', pauseMs: 0 },
  });
});

test('a socket that the next router sends back or does not use is closed', () => {
  const { last } = supervise();
  const [http, grpc, again] = [new HandleDouble(20), new HandleDouble(21), new HandleDouble(22)];
  last().listen({ http, grpc });
  last().die('SIGKILL');
  last().listen({ http: again });
  expect([http, grpc, again].map(({ isOpen }) => isOpen)).toEqual([false, false, true]);
  last().die('SIGKILL');
  expect(last().descriptors).toEqual([22]);
});

test('a router that drains gets its sockets released, and its end is the end', () => {
  const { last, exits, routers } = supervise();
  const http = new HandleDouble(20);
  last().listen({ http });
  expect(last().messages.at(-1)).toEqual({ kind: 'kept' });
  last().listener.onMessage({ kind: 'release' }, undefined);
  expect(http.isOpen).toBe(false);
  expect(last().messages.at(-1)).toEqual({ kind: 'released' });
  last().die('SIGKILL');
  expect([exits, routers.length]).toEqual([[137], 1]);
});

test('an end that the router announced ends the supervisor with its code', () => {
  const { last, exits } = supervise();
  last().listen({});
  last().listener.onMessage({ kind: 'ending' }, undefined);
  last().crash();
  expect(exits).toEqual([1]);
});

test.each(['SIGTERM', 'SIGINT'] as const)(
  '%s is passed on each time, and the end of the router is the end',
  (signal) => {
    const { supervisor, last, exits } = supervise();
    supervisor.pass(signal);
    supervisor.pass(signal);
    expect(last().signals).toEqual([signal, signal]);
    last().listener.onEnd({ exitCode: 0, signal: null });
    expect(exits).toEqual([0]);
  },
);

test('SIGHUP waits for a router that is starting, also in place of another, and is passed on once', () => {
  const { supervisor, last, exits } = supervise();
  supervisor.pass('SIGHUP');
  expect(last().signals).toEqual([]);
  last().listen({});
  expect(last().signals).toEqual(['SIGHUP']);
  last().die('SIGKILL');
  supervisor.pass('SIGHUP');
  supervisor.pass('SIGHUP');
  last().listen({});
  supervisor.pass('SIGHUP');
  expect(last().signals).toEqual(['SIGHUP', 'SIGHUP']);
  expect(exits).toEqual([]);
});

test('crashes are followed by growing pauses; after too many the supervisor gives up with one line', () => {
  const { last, routers, pauses, complaints, exits } = supervise();
  const crashed = (): void => {
    last().listen({});
    last().crash();
  };
  crashed();
  expect(routers).toHaveLength(2);
  for (const ms of [100, 200, 400]) {
    crashed();
    expect(pauses.at(-1)?.ms).toBe(ms);
    pauses.at(-1)?.call();
    expect(last().begin.restart).toEqual({ cause: 'crashed', exitCode: 1, signal: null, pauseMs: ms });
  }
  expect(exits).toEqual([]);
  crashed();
  expect(exits).toEqual([1]);
  expect(complaints).toEqual([
    'the router crashed 5 times in a row, at last with exit code 1, and is not restarted again; the errors above say why',
  ]);
});

test('SIGTERM during a pause ends the supervisor, and no router is started any more', () => {
  const { supervisor, last, pauses, exits } = supervise();
  last().listen({});
  last().crash();
  last().listen({});
  last().crash();
  supervisor.pass('SIGHUP');
  expect(exits).toEqual([]);
  supervisor.pass('SIGTERM');
  expect(exits).toEqual([0]);
  expect(pauses.map(({ isCancelled }) => isCancelled)).toEqual([true]);
});

test('a configuration error of the first router ends the supervisor with its code, and nothing is added to it', () => {
  const { last, exits, complaints, routers } = supervise();
  last().listener.onMessage({ kind: 'ending' }, undefined);
  last().listener.onEnd({ exitCode: 2, signal: null });
  expect([exits, complaints, routers.length]).toEqual([[2], [], 1]);
});
