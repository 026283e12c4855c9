/** The bodies of the REST interface. Ranges are documented here and checked by the operations, with the same messages everywhere. */
import { z } from 'zod';

const count = z.int().min(0);
const version = z.string().describe('A version, like "2"');

const weightedVersion = z
  .strictObject({ version, weight: z.number().describe('Its share is its weight divided by the sum of all weights') })
  .meta({ id: 'WeightedVersion' });

const shadowedVersion = z
  .strictObject({ version, percent: z.number().describe('Above 0, up to 100') })
  .meta({ id: 'ShadowedVersion' });

export const trafficSchema = z
  .object({
    labels: z.record(z.string(), version).describe('Versions by label'),
    split: z
      .array(weightedVersion)
      .describe('Of requests that name neither version nor label; empty: the highest ready version gets all requests'),
    shadows: z
      .array(shadowedVersion)
      .describe('Versions that get copies of requests; their answers are never returned'),
    revision: count.describe('Rises with every change; 0: never changed'),
  })
  .meta({ id: 'Traffic' });

export const trafficChangeSchema = z
  .strictObject({
    labels: z.record(z.string(), version.nullable()).describe('A version for a label, or null to remove it').optional(),
    split: z.array(weightedVersion).describe('Replaces the split; empty: ends it').optional(),
    shadows: z.array(shadowedVersion).describe('Replaces the shadows; empty: ends them').optional(),
  })
  .meta({ id: 'TrafficChange' });

export const labelSchema = z.strictObject({ version });
export const splitSchema = z.strictObject({ split: z.array(weightedVersion) });
export const shadowsSchema = z.strictObject({ shadows: z.array(shadowedVersion) });

export const loadSchema = z
  .strictObject({
    config: z
      .record(z.string(), z.unknown())
      .describe('The whole configuration in its JSON form, instead of the repository’s')
      .optional(),
    files: z
      .record(z.string(), z.string())
      .describe('In base64, by path below the model’s folder, like 1/model.onnx; instead of all in the repository')
      .optional(),
  })
  .meta({ id: 'Load' });

export const unloadSchema = z
  .strictObject({ withDependents: z.boolean().describe('Also unload the models of its steps').optional() })
  .meta({ id: 'Unload' });

export const contextsSchema = z
  .object({
    contexts: z.array(
      z.object({
        model: z.string(),
        version: z.string().describe('Empty when the model failed before it had a version'),
        state: z
          .enum(['loading', 'ready', 'unloading', 'failed', 'evicted'])
          .describe('evicted: not in memory now; loaded again by the next request'),
        reason: z.string().describe('Why it is not ready; empty when it is'),
        labels: z.array(z.string()),
        pinned: z.boolean(),
        residentBytes: count.describe('Memory of its workers as the system measured it'),
        idleMs: z.number().describe('Since its last request; absent: it had none yet').optional(),
        waitingRequests: count,
        runningRequests: count,
        instances: count,
        exact: z
          .boolean()
          .describe(
            'Its streams go on bit for bit after a failure, as a probe found; absent: no stateful stream was opened yet',
          )
          .optional(),
      }),
    ),
  })
  .meta({ id: 'Contexts' });

export const indexSchema = z
  .object({
    models: z.array(
      z
        .object({
          name: z.string(),
          version: z.string().optional(),
          state: z.enum(['UNKNOWN', 'READY', 'UNAVAILABLE', 'LOADING', 'UNLOADING']).optional(),
          reason: z.string().optional(),
        })
        .describe('A model that was never loaded has a name only'),
    ),
  })
  .meta({ id: 'Index' });

export const instancesSchema = z
  .object({
    instances: z.array(
      z.object({
        worker: count,
        pid: count.describe('Absent: it runs inside the server’s own process').optional(),
        model: z.string(),
        version: z.string(),
        group: z.string(),
        device: z.string(),
        breaker: z.enum(['closed', 'open', 'half-open']),
        outstandingBatches: count,
        rowMs: z
          .number()
          .describe('Milliseconds that a row takes here, as measured recently; absent before the first batch')
          .optional(),
        priorityMax: count.describe('It takes this priority level and more urgent ones only; absent: all').optional(),
      }),
    ),
  })
  .meta({ id: 'Instances' });

export const queuesSchema = z
  .object({
    waitingRequests: count,
    waitingBytes: count,
    runningRequests: count,
    models: z.array(
      z.object({
        model: z.string(),
        version: z.string(),
        waitingRequests: count,
        waitingBytes: count,
        waitMs: z
          .number()
          .describe('Estimated wait of a request that arrives now, in milliseconds; absent: not known yet')
          .optional(),
      }),
    ),
  })
  .meta({ id: 'Queues' });

export const streamsQuerySchema = z.object({
  model: z.string().describe('Only streams of this model').optional(),
  open: z.enum(['true', 'false']).describe('true: only streams that have not ended').optional(),
  limit: z
    .string()
    .regex(/^\d{1,6}$/)
    .describe('Streams of the page at most; 100 unless given')
    .optional(),
  after: z.string().describe('The next of the page before').optional(),
});

export const streamSchema = z
  .object({
    id: z.string(),
    model: z.string(),
    version: z.string(),
    epoch: count.describe('Number of its current ownership'),
    owned: z.boolean().describe('This server runs it; false: it lies in the journal and nothing else'),
    attached: z.boolean().describe('A client is connected'),
    openedAtMs: count.describe('Milliseconds since 1970'),
    ageMs: z.number().describe('Since it was opened'),
    expiresAtMs: count.describe('When it ends at the latest'),
    acceptedInputs: count.describe('Inputs that are durable'),
    outputs: count,
    journalBytes: count,
    exact: z
      .boolean()
      .describe('After a failure it goes on with the values that it would have had; absent: its model keeps no state')
      .optional(),
    exactness: z
      .enum(['exact', 'alone', 'inexact', 'unproven'])
      .describe('What the probe of its model found: alone means that its steps share no runs')
      .optional(),
    ended: z
      .object({
        outcome: z.enum(['done', 'failed', 'cancelled', 'expired']),
        code: z.string().describe('Of the error catalogue; absent: done').optional(),
        message: z.string(),
      })
      .describe('Its outcome, and the code and message of its error; absent: it has not ended')
      .optional(),
  })
  .meta({ id: 'Stream' });

export const streamsSchema = z
  .object({
    streams: z.array(streamSchema).describe('By id'),
    next: z.string().describe('after of the next page; absent: this is the last one').optional(),
  })
  .meta({ id: 'Streams' });

export const streamCancelSchema = z
  .strictObject({ reason: z.string().describe('The client sees it').optional() })
  .meta({ id: 'CancelStream' });

export const flushedSchema = z.object({ results: count.describe('Forgotten') }).meta({ id: 'FlushedCache' });
