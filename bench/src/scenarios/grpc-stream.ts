import { benchServer, type RunningContestant, startContestants, stopContestants } from '../contestant.ts';
import { chunk, chunksBody, chunksPath } from '../grpc-messages.ts';
import { callOnce } from '../load/grpc-call.ts';
import { withProcessorMicros } from '../processor-time.ts';
import { runProgram } from '../run-program.ts';
import type { Sample, Scenario } from '../scenario.ts';
import { ratioGoals } from './grpc-load.ts';

const count = 1000;
const bytes = 32;
const streamCounts = [1, 100];
const contestants = [
  benchServer('grpc-js', 'grpc-js'),
  benchServer('node:http2 and protobufjs', 'node-http2'),
  benchServer('millrace', 'millrace-rpc'),
];

function figureName(contestant: string, streams: number): string {
  return `${contestant}, ${streams === 1 ? 'one stream' : `${streams} streams`}`;
}

interface ChunkFigures {
  readonly rate: number;
  readonly micros: number | undefined;
}

function mustBeChunks(messages: readonly Buffer[]): void {
  const isRight = messages.every((message, index) => {
    const { number, data } = chunk.decode(message) as unknown as { number: number; data: Uint8Array };
    return number === index && data.length === bytes && data.every((byte) => byte === 7);
  });
  if (messages.length !== count || !isRight) throw new Error('the chunks are not those that were asked for');
}

export const grpcStreamScenario: Scenario = {
  name: 'grpc-stream',
  title: `gRPC server streaming: ${count} chunks of ${bytes} bytes a stream, one stream and 100 at a time on one connection, one core serving`,
  unit: 'chunks/s',
  contestants: contestants.map(({ name }) => name),
  goals: streamCounts.flatMap((streams) => {
    const names = [figureName('millrace', streams), figureName('grpc-js', streams)] as const;
    return ratioGoals(`${names[0]}, at least 4x grpc-js`, 4, ...names, 'chunk');
  }),
  open: async (options) => {
    const servers = await startContestants(contestants);
    const load = async (server: RunningContestant, streams: number, seconds: number): Promise<ChunkFigures> => {
      const { name, port, child } = server;
      mustBeChunks(await callOnce(`http://127.0.0.1:${port}`, chunksPath, chunksBody(count, bytes)));
      const { result, micros } = await withProcessorMicros(
        child.pid,
        () =>
          runProgram(1, 'load/chunk-load', [
            ...['--port', String(port), '--streams', String(streams), '--seconds', String(seconds)],
            ...['--count', String(count), '--bytes', String(bytes)],
          ]),
        ({ chunks }) => chunks as number,
      );
      if (result.wrong !== 0) throw new Error(`${name} ended ${result.wrong} streams wrongly`);
      return { rate: result.chunksPerSecond as number, micros };
    };
    for (const server of servers)
      for (const streams of streamCounts) await load(server, streams, options.warmupSeconds);
    return {
      measure: async (): Promise<Sample> => {
        const sample: Record<string, number> = {};
        for (const streams of streamCounts)
          for (const server of servers) {
            const { rate, micros } = await load(server, streams, options.seconds);
            const name = figureName(server.name, streams);
            sample[name] = rate;
            if (micros !== undefined) sample[`${name} server µs a chunk`] = micros;
          }
        return sample;
      },
      close: () => stopContestants(servers),
    };
  },
};
