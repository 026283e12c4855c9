/**
 * ModelInfer calls of the slow model: a fixed number in flight (--in-flight), or as a Poisson process has them arrive
 * whatever has been answered so far (--rate). Prints one JSON line; times in milliseconds.
 */
import { parseArgs } from 'node:util';
import { grpcInferPath, inferInt64Body } from '../grpc-messages.ts';
import { idealLatencies, poissonArrivals } from '../queueing.ts';
import { quantile } from '../statistics.ts';
import { FrameConnection } from './frame-connection.ts';

const { values } = parseArgs({
  options: {
    port: { type: 'string' },
    seconds: { type: 'string' },
    'in-flight': { type: 'string' },
    rate: { type: 'string' },
    seed: { type: 'string', default: '1' },
    /** Of the ideal server; with --rate. */
    'service-ms': { type: 'string' },
  },
});
const seconds = Number(values.seconds);
const connectionsMax = 4;
/** The first part of the time is not counted. */
const warmUpShare = 0.2;

const answeredMs: number[] = [];
const refusedMs: number[] = [];
let open = 0;
let onSettled: () => void = () => {};
const countFrom = performance.now() + seconds * 1000 * warmUpShare;

const connections = Array.from({ length: connectionsMax }, () => {
  const begun = new Map<number, { at: number; hasData: boolean }>();
  const connection = new FrameConnection(Number(values.port), grpcInferPath, inferInt64Body('slow', 'steps', [1], 1n), {
    onData: (id) => {
      const call = begun.get(id);
      if (call !== undefined) call.hasData = true;
    },
    onEnd: (id, isReset) => {
      const call = begun.get(id);
      if (call === undefined) return;
      begun.delete(id);
      if (isReset) throw new Error('a call was reset');
      if (call.at >= countFrom) (call.hasData ? answeredMs : refusedMs).push(performance.now() - call.at);
      open -= 1;
      onSettled();
    },
  });
  return {
    call(at: number): void {
      open += 1;
      begun.set(connection.call(), { at, hasData: false });
    },
    close: () => connection.socket.destroy(),
  };
});

async function closedLoop(inFlight: number): Promise<void> {
  const endAt = performance.now() + seconds * 1000;
  let next = 0;
  const call = (): void => connections[next++ % connectionsMax]?.call(performance.now());
  await new Promise<void>((resolve) => {
    onSettled = () => {
      if (performance.now() < endAt) call();
      else if (open === 0) resolve();
    };
    for (let index = 0; index < inFlight; index++) call();
  });
}

/**
 * Counted from the times at which calls were due, not from those at which they were made: a load that is late must not
 * make the server seem fast. It reads the clock once a millisecond, to leave the processor to others.
 */
async function openLoop(arrivals: readonly number[]): Promise<void> {
  const begin = performance.now();
  let next = 0;
  await new Promise<void>((resolve) => {
    const turn = (): void => {
      const now = performance.now() - begin;
      for (; next < arrivals.length && (arrivals[next] as number) <= now; next++) {
        connections[next % connectionsMax]?.call(begin + (arrivals[next] as number));
      }
      if (next < arrivals.length || open > 0) setTimeout(turn, 1);
      else resolve();
    };
    turn();
  });
}

const figures: Record<string, number> = {};
if (values.rate === undefined) await closedLoop(Number(values['in-flight']));
else {
  const arrivals = poissonArrivals(Number(values.rate), seconds, Number(values.seed));
  await openLoop(arrivals);
  const counted = idealLatencies(arrivals, Number(values['service-ms'])).filter(
    (_, index) => (arrivals[index] as number) >= seconds * 1000 * warmUpShare,
  );
  figures.idealP50 = quantile(counted, 0.5);
  figures.idealP99 = quantile(counted, 0.99);
}
for (const connection of connections) connection.close();
const countedSeconds = seconds * (1 - warmUpShare);
process.stdout.write(
  `${JSON.stringify({
    ...figures,
    answeredPerSecond: answeredMs.length / countedSeconds,
    refusedPerSecond: refusedMs.length / countedSeconds,
    p50: quantile(answeredMs, 0.5),
    p99: quantile(answeredMs, 0.99),
    // JSON cannot express the median of no values.
    refusedP50: refusedMs.length === 0 ? 0 : quantile(refusedMs, 0.5),
  })}\n`,
);
