/** CPU profiles of two servers, compared by function. */
import { median } from '../statistics.ts';

export interface CpuProfile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string };
  }[];
  /** Of the first sample, in microseconds of the monotonic clock. */
  readonly startTime: number;
  readonly samples: readonly number[];
  /** Microseconds before each sample. */
  readonly timeDeltas: readonly number[];
}

/** Of one server under load. */
export interface ProfiledServer {
  readonly profiles: readonly CpuProfile[];
  /** When the load began and ended, on the same clock: what the server did before and after does not count. */
  readonly window: readonly [begin: number, end: number];
  readonly answered: number;
  /** The URL of its checkout, so that the same file has the same name in both. */
  readonly checkoutUrl: string;
}

export interface FunctionDifference {
  readonly name: string;
  /** Self time in microseconds a request. */
  readonly before: number;
  readonly after: number;
}

/** Functions by how much their self time differs, most first. Functions of a file with the same name count as one. */
export function functionDifferences(before: ProfiledServer, after: ProfiledServer): FunctionDifference[] {
  const [selfBefore, selfAfter] = [selfMicros(before), selfMicros(after)];
  const names = new Set([...selfBefore.keys(), ...selfAfter.keys()]);
  return Array.from(names, (name) => ({
    name,
    before: selfBefore.get(name) ?? 0,
    after: selfAfter.get(name) ?? 0,
  })).sort((one, other) => Math.abs(other.after - other.before) - Math.abs(one.after - one.before));
}

function selfMicros({ profiles, window: [begin, end], answered, checkoutUrl }: ProfiledServer): Map<string, number> {
  const micros = new Map<string, number>();
  for (const { nodes, startTime, samples, timeDeltas } of profiles) {
    const names = new Map(nodes.map(({ id, callFrame }) => [id, nameOf(callFrame, checkoutUrl)]));
    // A longer gap between samples is time in which the process did not run.
    const gapMax = 2 * median(timeDeltas);
    let now = startTime;
    for (const [index, id] of samples.entries()) {
      const gap = timeDeltas[index] ?? 0;
      now += gap;
      const name = names.get(id) ?? '(unknown)';
      if (now < begin || now > end || name === '(idle)') continue;
      micros.set(name, (micros.get(name) ?? 0) + Math.min(gap, gapMax) / answered);
    }
  }
  return micros;
}

function nameOf({ functionName, url }: CpuProfile['nodes'][0]['callFrame'], checkoutUrl: string): string {
  const file = url.startsWith(`${checkoutUrl}/`) ? url.slice(checkoutUrl.length + 1) : url;
  // Files that programs of a bundle have in common are named by their contents.
  return [functionName || '(anonymous)', file.replace(/(\/bundle\/.+)-[0-9A-Z]{8}\.js$/, '$1.js')].join(' ').trim();
}
