/**
 * Draws where the time of one caller's request goes, from the system calls of router and worker (Linux, as root):
 *
 *     perf record -e raw_syscalls:sys_enter -e raw_syscalls:sys_exit -p ROUTER,WORKER -o trace sleep 1     # while load/one caller runs
 *     perf script -i trace -F comm,pid,time,event,trace | node bench/dist/programs/one-caller-timeline.js ROUTER WORKER CLIENT_FD WORKER_FD
 *
 * The descriptors are those of the router, as /proc/ROUTER/fd shows them. Writes docs/images/one-caller.svg.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { median } from '../statistics.ts';

const [router = '', worker = '', clientDescriptor, workerDescriptor] = process.argv.slice(2);

/** Numbers of x86-64. */
const calls = { read: 0, write: 1, poll: 7, sendto: 44, recvfrom: 45, epollPwait: 281 } as const;

interface SystemCall {
  readonly isRouter: boolean;
  readonly call: number;
  readonly descriptor: number;
  readonly beginMicros: number;
  readonly endMicros: number;
  readonly result: number;
}

function* systemCalls(text: string): Generator<SystemCall> {
  const open = new Map<string, { call: number; descriptor: number; beginMicros: number }>();
  for (const line of text.split('\n')) {
    const [, pid = '', seconds, kind, rest = ''] =
      /\s(\d+)\s+([\d.]+):\s+raw_syscalls:sys_(enter|exit):\s+(.*)/.exec(line) ?? [];
    if (pid !== router && pid !== worker) continue;
    const micros = Number(seconds) * 1e6;
    if (kind === 'enter') {
      const [, call, descriptor = ''] = /NR (\d+) \(([0-9a-f]+)/.exec(rest) ?? [];
      open.set(pid, { call: Number(call), descriptor: Number.parseInt(descriptor, 16), beginMicros: micros });
      continue;
    }
    const begun = open.get(pid);
    open.delete(pid);
    const result = Number(/= (-?\d+)/.exec(rest)?.[1]);
    if (begun !== undefined) yield { isRouter: pid === router, ...begun, endMicros: micros, result };
  }
}

interface Step {
  readonly name: string;
  readonly color: string;
  /** Whether this call ends the step, and at its begin or its end. */
  readonly endsAt: (call: SystemCall) => number | undefined;
}

const ended = (call: SystemCall, isIt: boolean): number | undefined => (isIt ? call.endMicros : undefined);
const begun = (call: SystemCall, isIt: boolean): number | undefined => (isIt ? call.beginMicros : undefined);
const isOnClient = ({ isRouter, descriptor }: SystemCall) => isRouter && descriptor === Number(clientDescriptor);
const isOnWorker = ({ isRouter, descriptor }: SystemCall) => isRouter && descriptor === Number(workerDescriptor);
const [blue, orange, gray] = ['#2471a3', '#ca6f1e', '#999999'];

const steps: readonly Step[] = [
  {
    name: 'router: read the request',
    color: gray,
    endsAt: (call) => ended(call, isOnClient(call) && call.call === calls.read && call.result > 0),
  },
  {
    name: 'router: parse, check, queue, batch',
    color: blue,
    endsAt: (call) => begun(call, isOnWorker(call) && call.call === calls.write),
  },
  {
    name: 'router: write to the worker',
    color: gray,
    endsAt: (call) => ended(call, isOnWorker(call) && call.call === calls.write),
  },
  {
    name: 'router sleeps, worker wakes up',
    color: gray,
    endsAt: (call) => ended(call, !call.isRouter && call.call === calls.poll),
  },
  {
    name: 'worker: read',
    color: gray,
    endsAt: (call) => ended(call, !call.isRouter && call.call === calls.recvfrom && call.result > 0),
  },
  {
    name: 'worker: decode, prepare the run',
    color: orange,
    endsAt: (call) => begun(call, !call.isRouter && call.call === calls.epollPwait),
  },
  {
    name: 'worker: turn of the event loop, run, encode',
    color: orange,
    endsAt: (call) => begun(call, !call.isRouter && call.call === calls.sendto),
  },
  {
    name: 'worker: write the answer',
    color: gray,
    endsAt: (call) => ended(call, !call.isRouter && call.call === calls.sendto),
  },
  {
    name: 'worker sleeps, router wakes up',
    color: gray,
    endsAt: (call) => begun(call, isOnWorker(call) && call.call === calls.read),
  },
  {
    name: 'router: read the answer',
    color: gray,
    endsAt: (call) => ended(call, isOnWorker(call) && call.call === calls.read),
  },
  {
    name: 'router: settle, encode',
    color: blue,
    endsAt: (call) => begun(call, isOnClient(call) && call.call === calls.write),
  },
  {
    name: 'router: write to the client, which wakes its core',
    color: gray,
    endsAt: (call) => ended(call, isOnClient(call) && call.call === calls.write),
  },
];

/** The lengths of the steps of each request whose steps came in order. */
function requestsIn(text: string): readonly (readonly number[])[] {
  const requests: number[][] = [];
  let lengths: number[] = [];
  let at = Number.NaN;
  for (const call of [...systemCalls(text)].sort((left, right) => left.endMicros - right.endMicros)) {
    if (isOnClient(call) && call.call === calls.read && call.result > 0) {
      lengths = [];
      at = call.beginMicros;
    }
    // A write ends one step by its begin and the next by its end.
    for (let next = steps[lengths.length]; next !== undefined; next = steps[lengths.length]) {
      const end = next.endsAt(call);
      if (end === undefined || Number.isNaN(at)) break;
      lengths.push(end - at);
      at = end;
    }
    if (lengths.length === steps.length) {
      requests.push(lengths);
      lengths = [];
      at = Number.NaN;
    }
  }
  return requests;
}

function drawing(lengths: readonly number[], count: number): string {
  const [width, left, top, row] = [760, 300, 40, 22];
  const total = lengths.reduce((sum, length) => sum + length, 0);
  const x = (micros: number): number => left + (micros / total) * (width - left - 60);
  let at = 0;
  const bars = steps.flatMap(({ name, color }, index) => {
    const length = lengths[index] as number;
    const [from, to, y] = [x(at), x(at + length), top + index * row];
    at += length;
    return [
      `<text x="${left - 10}" y="${y + 14}" text-anchor="end">${name}</text>`,
      `<rect x="${from.toFixed(1)}" y="${y + 2}" width="${Math.max(1, to - from).toFixed(1)}" height="${row - 6}" fill="${color}"/>`,
      `<text x="${(to + 6).toFixed(1)}" y="${y + 14}">${length.toFixed(0)}</text>`,
    ];
  });
  const height = top + steps.length * row + 16;
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}">`,
    '<title>Where the time of one caller goes</title>',
    `<style>text{font:12px sans-serif}</style><rect width="${width}" height="${height}" fill="#ffffff"/>`,
    `<text x="10" y="20">one caller, REST binary, MLP, router and worker on one core: µs, medians of ${count} requests, ${total.toFixed(0)} together</text>`,
    ...bars,
    '</svg>\n',
  ].join('\n');
}

const requests = requestsIn(readFileSync(0, 'utf8'));
if (requests.length === 0) throw new Error('the trace has no whole request: check the process ids and descriptors');
const medians = steps.map((_, index) => median(requests.map((lengths) => lengths[index] as number)));
for (const [index, { name }] of steps.entries())
  console.log(`${(medians[index] as number).toFixed(1).padStart(7)}  ${name}`);
writeFileSync(
  fileURLToPath(new URL('../../../docs/images/one-caller.svg', import.meta.url)),
  drawing(medians, requests.length),
);
