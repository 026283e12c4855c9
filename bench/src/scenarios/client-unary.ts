/** Our client against grpc-js's: the same calls to the same server, which is ours and does nothing but echo. */
import { firstMatch, startPinned, stopped } from '../pinned-process.ts';
import { programPath, runProgram } from '../run-program.ts';
import type { OpenScenario, ReportTable, Sample, Scenario } from '../scenario.ts';
import { median } from '../statistics.ts';

const clients = ['millrace', 'grpc-js'] as const;
const shapes = [32, 1] as const;

const rate = (client: string, inFlight: number): string => `${client}, ${inFlight} in flight`;
const p50 = (client: string): string => `${client}, p50 in us with 1 in flight`;

export const clientUnaryScenario: Scenario = {
  name: 'client-unary',
  title: 'Clients in Node, unary inference of 16 numbers: calls for each second of processor time of the client',
  unit: 'calls/s of a core',
  contestants: [...clients.flatMap((client) => shapes.map((shape) => rate(client, shape))), ...clients.map(p50)],
  goals: [
    ...shapes.map((shape) => ({
      statement: `${rate('millrace', shape)} at least 3x grpc-js`,
      bound: 3,
      isMinimum: true,
      value: (medians: Sample) => (medians[rate('millrace', shape)] ?? 0) / (medians[rate('grpc-js', shape)] ?? 0),
    })),
    {
      statement: 'p50 of one call at a time no worse than that of grpc-js',
      bound: 1,
      isMinimum: false,
      value: (medians: Sample) => (medians[p50('millrace')] ?? 0) / (medians[p50('grpc-js')] ?? 0),
    },
  ],
  open: async ({ seconds, warmupSeconds }): Promise<OpenScenario> => {
    const server = startPinned(0, process.execPath, [programPath('servers/canned-infer')]);
    const port = (await firstMatch(server, /listening on (\d+)/))[1] as string;
    const rates = new Map<string, number[]>();
    return {
      async measure(repetition) {
        const sample: Record<string, number> = {};
        // In turn, the other way round every second time.
        const order = repetition % 2 === 0 ? clients : [...clients].reverse();
        for (const inFlight of shapes) {
          for (const client of order) {
            const times = ['--seconds', String(seconds), '--warmup', String(warmupSeconds)];
            const load = ['--client', client, '--port', port, '--inFlight', String(inFlight), ...times];
            const figures = await runProgram(1, 'load/client-load', load);
            sample[rate(client, inFlight)] = figures.callsPerCpuSecond as number;
            if (inFlight === 1) sample[p50(client)] = (figures.p50Ms as number) * 1000;
            const name = rate(client, inFlight);
            rates.set(name, [...(rates.get(name) ?? []), figures.callsPerSecond as number]);
          }
        }
        return sample;
      },
      tables: (): readonly ReportTable[] => [
        {
          title: 'Calls a second by the clock, where the server may be what limits them',
          rows: Object.fromEntries([...rates].map(([name, values]) => [name, { median: Math.round(median(values)) }])),
        },
      ],
      close: () => stopped(server),
    };
  },
};
