/** A server that takes part: how it is started, pinned to its cores, and where it listens. */
import type { ChildProcess } from 'node:child_process';
import { createRequire } from 'node:module';
import { firstMatch, startPinned, stopped } from './pinned-process.ts';
import { programPath } from './run-program.ts';

export interface Contestant {
  readonly name: string;
  /** Arguments of node. */
  readonly command: readonly string[];
  /** Matches the output once the server can answer; its first group is the port, its second that of the metrics, if any. */
  readonly listening: RegExp;
  /** As `taskset` takes them; core 0 unless given. */
  readonly cores?: string | undefined;
}

export interface RunningContestant {
  readonly name: string;
  readonly child: ChildProcess;
  readonly port: number;
  readonly metricsPort: number;
}

export type BenchLane = 'local' | 'inline';

const millrace = createRequire(import.meta.url).resolve('millrace/bin/millrace.js');
const anyPorts = ['--http-port', '0', '--grpc-port', '0', '--metrics-port', '0'];

/** This server as users start it, with one model; `program`: that of another checkout. */
export function millraceServing(modelPath: string, lane: BenchLane, program = millrace): Contestant {
  return {
    name: `millrace, ${lane} lane`,
    command: [program, 'serve', modelPath, ...anyPorts, '--lane', lane, '--log-format', 'json'],
    listening:
      /"httpUrl":"http:\/\/127\.0\.0\.1:(\d+)".*"metricsUrl":"http:\/\/127\.0\.0\.1:(\d+)\/[\s\S]*"message":"model ready"/,
  };
}

/** One of the bench's own servers. */
export function benchServer(
  name: string,
  program: string,
  serverArguments: readonly string[] = [],
  nodeArguments: readonly string[] = [],
): Contestant {
  return {
    name,
    command: [...nodeArguments, programPath(`servers/${program}`), ...serverArguments],
    listening: /listening on (\d+)/,
  };
}

/** One after the other; when one does not start, those that did are stopped again. */
export async function startContestants(contestants: readonly Contestant[]): Promise<readonly RunningContestant[]> {
  const running: RunningContestant[] = [];
  try {
    for (const { name, command, listening, cores = '0' } of contestants) {
      const child = startPinned(cores, process.execPath, command);
      const [, port, metricsPort] = await firstMatch(child, listening);
      running.push({ name, child, port: Number(port), metricsPort: Number(metricsPort) });
    }
  } catch (error) {
    await stopContestants(running);
    throw error;
  }
  return running;
}

export async function stopContestants(running: readonly RunningContestant[]): Promise<void> {
  await Promise.all(running.map(({ child }) => stopped(child)));
}
