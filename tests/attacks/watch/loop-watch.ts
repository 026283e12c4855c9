/**
 * How long the router's event loop was held, as the router itself measures it, beside the time for which the system gave its thread no
 * core: on a shared machine a delay alone says nothing about the server. Their difference is the least that it was held; where
 * others keep the cores busy it hides delays that were real, so figures are taken on a machine with nothing else running.
 */
import { readFileSync } from 'node:fs';
import { request } from 'node:http';

const scrapeMs = 250;
const histogramName = 'millrace_event_loop_delay_seconds';

export interface LoopReport {
  /** Longest delay, as measured. */
  readonly longestMs: number;
  /** Longest of those delays less what its thread waited for a core in the same span, and no more than it ran in it. */
  readonly longestHeldMs: number;
  /** Samples up to each bound in seconds, not cumulative. */
  readonly histogram: Readonly<Record<string, number>>;
}

export class LoopWatch {
  readonly #port: number;
  readonly #pid: number;
  readonly #before: ReadonlyMap<string, number>;
  #latest: ReadonlyMap<string, number>;
  #isStopped: boolean = false;
  #longestMs = 0;
  #longestHeldMs = 0;
  #thread: ThreadTime;
  readonly #running: Promise<void>;

  private constructor(port: number, pid: number, first: ReadonlyMap<string, number>) {
    this.#port = port;
    this.#pid = pid;
    this.#before = first;
    this.#latest = first;
    this.#thread = threadTime(pid);
    this.#running = this.#run();
  }

  static async start(metricsPort: number, pid: number): Promise<LoopWatch> {
    const text = await scrape(metricsPort);
    return new LoopWatch(metricsPort, pid, bucketsFrom(text));
  }

  async #run(): Promise<void> {
    while (!this.#isStopped) {
      await new Promise((resolve) => setTimeout(resolve, scrapeMs));
      await this.#sample();
    }
  }

  async #sample(): Promise<void> {
    try {
      const text = await scrape(this.#port);
      const thread = threadTime(this.#pid);
      const ranMs = thread.ranMs - this.#thread.ranMs;
      const waitedMs = thread.waitedMs - this.#thread.waitedMs;
      this.#thread = thread;
      const buckets = bucketsFrom(text);
      // Others scrape too, and take the longest delay with them: the histogram still has it, by its bucket.
      const gaugeMs = Number(/^nodejs_eventloop_lag_max_seconds (\S+)$/m.exec(text)?.[1] ?? 0) * 1000;
      const delayMs = Math.max(gaugeMs, longestBucketMs(this.#latest, buckets));
      this.#latest = buckets;
      this.#longestMs = Math.max(this.#longestMs, delayMs);
      this.#longestHeldMs = Math.max(this.#longestHeldMs, Math.min(delayMs - waitedMs, ranMs));
    } catch {
      // The bystander's probe of the same port counts what fails there.
    }
  }

  async stop(): Promise<LoopReport> {
    this.#isStopped = true;
    await this.#running;
    await this.#sample();
    const histogram: Record<string, number> = {};
    for (const [bound, count] of differences(this.#before, this.#latest)) histogram[bound] = count;
    return { longestMs: this.#longestMs, longestHeldMs: this.#longestHeldMs, histogram };
  }
}

interface ThreadTime {
  readonly ranMs: number;
  /** While it stood ready to run and had no core. */
  readonly waitedMs: number;
}

/** Of the main thread, since it began. */
function threadTime(pid: number): ThreadTime {
  try {
    const [ran, waited] = readFileSync(`/proc/${pid}/task/${pid}/schedstat`, 'utf8').split(' ').map(Number);
    return { ranMs: (ran as number) / 1e6, waitedMs: (waited as number) / 1e6 };
  } catch {
    return { ranMs: 0, waitedMs: 0 };
  }
}

/** Cumulative, by upper bound. */
function bucketsFrom(text: string): ReadonlyMap<string, number> {
  const lines = text.matchAll(new RegExp(`^${histogramName}_bucket\\{le="([^"]+)"\\} (\\d+)$`, 'gm'));
  return new Map([...lines].map(([, bound, count]) => [bound as string, Number(count)]));
}

function differences(
  before: ReadonlyMap<string, number>,
  after: ReadonlyMap<string, number>,
): readonly (readonly [string, number])[] {
  let below = 0;
  return [...after].map(([bound, count]) => {
    const upTo = count - (before.get(bound) ?? 0);
    const inBucket = upTo - below;
    below = upTo;
    return [bound, inBucket] as const;
  });
}

/** The lower end of the highest bucket that was added to. */
function longestBucketMs(before: ReadonlyMap<string, number>, after: ReadonlyMap<string, number>): number {
  const added = differences(before, after);
  const highest = added.findLastIndex(([, count]) => count > 0);
  return highest <= 0 ? 0 : Number(added[highest - 1]?.[0]) * 1000;
}

/** From an address of its own, so that no attacker's share is in its way. */
function scrape(port: number): Promise<string> {
  return new Promise((resolve, reject) => {
    const call = request(
      { port, host: '127.0.0.1', localAddress: '127.0.0.9', path: '/metrics', agent: false, timeout: 30_000 },
      (answer) => {
        const pieces: Buffer[] = [];
        answer.on('data', (piece: Buffer) => pieces.push(piece));
        answer.on('end', () => resolve(Buffer.concat(pieces).toString()));
        answer.on('error', reject);
      },
    );
    call.on('timeout', () => call.destroy(new Error('no answer within 30 s')));
    call.on('error', reject);
    call.end();
  });
}
