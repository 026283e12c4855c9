/** Triton's statistics extension over REST. */
import * as z from 'zod';
import type { Statistics } from '../../management/statistics.ts';
import { encodeError, errorSchema } from '../routing/encode-error.ts';
import { jsonContent, type Route } from '../routing/route.ts';
import { encodeStatistics } from './encode-statistics.ts';
import { type ModelOperationDependencies, modelOperation } from './model-operation.ts';

export interface StatisticsDependencies extends ModelOperationDependencies {
  readonly statistics: Statistics;
}

const duration = z.object({ count: z.int(), ns: z.int() }).meta({ id: 'StatisticDuration' });
const statisticsSchema = z
  .object({
    model_stats: z.array(
      z.object({
        name: z.string(),
        version: z.string(),
        last_inference: z.int().describe('Milliseconds since the Unix epoch; 0: none yet'),
        inference_count: z.int().describe('Rows'),
        execution_count: z.int().describe('Batches'),
        inference_stats: z.record(z.string(), duration),
        response_stats: z.record(z.string(), z.record(z.string(), duration)),
        batch_stats: z.array(
          z.object({
            batch_size: z.int(),
            compute_input: duration,
            compute_infer: duration,
            compute_output: duration,
          }),
        ),
        memory_usage: z.array(z.object({ type: z.string(), id: z.int(), byte_size: z.int() })),
      }),
    ),
  })
  .meta({ id: 'ModelStatistics' });

const responses: Route['responses'] = {
  200: { description: 'The statistics', content: jsonContent(statisticsSchema) },
  400: { description: 'There is no such model or version', content: jsonContent(errorSchema) },
};

export function statisticsRoutes(dependencies: StatisticsDependencies): readonly Route[] {
  const { statistics, config, onError } = dependencies;
  const { retryAfterSeconds } = config;
  return [
    {
      method: 'GET',
      path: '/v2/models/stats',
      operationId: 'statistics',
      summary: 'Statistics of all served versions',
      responses: { 200: responses[200] as Route['responses'][number] },
      handler: () => {
        try {
          return encodeStatistics(statistics.of('', ''));
        } catch (error) {
          return encodeError(error, { retryAfterSeconds, onError });
        }
      },
    },
    ...modelOperation(dependencies, {
      method: 'GET',
      suffix: '/stats',
      name: 'Statistics',
      summary: 'Statistics of a model',
      responses,
      run: (_, model, version) => encodeStatistics(statistics.of(model, version)),
    }),
  ];
}
