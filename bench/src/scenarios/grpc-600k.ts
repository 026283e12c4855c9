import { fileURLToPath } from 'node:url';
import { benchServer, type Contestant, millraceServing } from '../contestant.ts';
import { expectedOutput } from '../expected-output.ts';
import { grpcInferPath, inferBody, outputFrom } from '../grpc-messages.ts';
import { isNearly } from '../nearly.ts';
import type { OpenScenario, Sample, Scenario } from '../scenario.ts';
import { openGrpcLoad, ratioGoals } from './grpc-load.ts';

const pixels = 3 * 224 * 224;
const shape = { connections: 8, streams: 1 };

/** A row of 600 KB, answered by a few numbers or by itself. */
const works = [
  { label: 'there', model: 'image_mean', input: 'image', tensorShape: [1, 3, 224, 224] },
  { label: 'there and back', model: 'identity_fp32', input: 'INPUT0', tensorShape: [1, pixels] },
];

function pathOf(model: string): string {
  return fileURLToPath(new URL(`../../../tests/models/${model}/1/model.onnx`, import.meta.url));
}

function contestantsFor(model: string): readonly Contestant[] {
  const path = pathOf(model);
  return [
    benchServer('grpc-js', 'grpc-js', ['--model', path]),
    millraceServing(path, 'local'),
    millraceServing(path, 'inline'),
  ];
}

export const grpc600kScenario: Scenario = {
  name: 'grpc-600k',
  title:
    'gRPC ModelInfer of a 600 KB tensor, 8 in flight; there (image_mean), there and back (identity_fp32); all of the server on one core',
  unit: 'requests/s',
  contestants: contestantsFor('image_mean').map(({ name }) => name),
  needs: ['h2load'],
  goals: works.flatMap(({ label }) =>
    ratioGoals(
      `${label}: local lane at least 4x grpc-js`,
      4,
      `millrace, local lane, 8x1, ${label}`,
      `grpc-js, 8x1, ${label}`,
    ),
  ),
  open: async (options) => {
    const opened: { label: string; scenario: OpenScenario }[] = [];
    for (const { label, model, input, tensorShape } of works) {
      const data = Float32Array.from({ length: pixels }, (_, index) => Math.sin(index));
      const expected = await expectedOutput(pathOf(model), input, tensorShape, data);
      const check = (messages: readonly Buffer[]): void => {
        if (messages.length !== 1 || !isNearly(outputFrom(messages[0] as Buffer, expected.name), expected.data))
          throw new Error(`${model} was answered wrongly`);
      };
      const body = inferBody('model', input, tensorShape, data);
      const contestants = contestantsFor(model);
      opened.push({
        label,
        scenario: await openGrpcLoad({ contestants, path: grpcInferPath, body, shapes: [shape], check }, options),
      });
    }
    return {
      measure: async (repetition): Promise<Sample> => {
        const sample: Record<string, number> = {};
        for (const { label, scenario } of opened)
          for (const [name, figure] of Object.entries(await scenario.measure(repetition))) {
            const [, rate, time] = /^(.*?)( p\d+ ms| server µs a request)?$/.exec(name) as RegExpExecArray;
            sample[`${rate}, ${label}${time ?? ''}`] = figure;
          }
        return sample;
      },
      close: async () => {
        for (const { scenario } of opened) await scenario.close();
      },
    };
  },
};
