/** The bodies in the OpenAPI document. The decoder is stricter and faster than these schemas, and a test keeps both consistent. */
import { datatypes } from '@millrace/protocol';
import * as z from 'zod';

const parameters = z
  .record(z.string(), z.union([z.string(), z.number(), z.boolean()]))
  .describe('Named values; a model ignores those that it does not know');
const requestParameters = parameters.describe(
  'Named values; a model ignores those that it does not know. millrace_timeout_ms: deadline of the request, in milliseconds ' +
    'from now, as the header millrace-timeout-ms. timeout: microseconds that it may wait, where the queue of its model allows it',
);
const datatype = z.enum(Object.keys(datatypes) as [string, ...string[]]).meta({ id: 'Datatype' });
const shape = z.array(z.int().min(0));
const data = z
  .array(z.unknown())
  .describe(
    'Elements in row-major order, flat or nested in any way; as many as the shape says. An element of a BYTES input is a ' +
      'string, or {"b64": "…"} with base64 where it is not text, for example an image file',
  );

export const serverMetadataSchema = z
  .object({ name: z.string(), version: z.string(), extensions: z.array(z.string()) })
  .meta({ id: 'ServerMetadata' });

export const frontPageSchema = z
  .object({
    about: z.string(),
    name: z.string(),
    version: z.string(),
    models: z.array(z.string()).describe('Names of models that are ready; the first 20'),
    modelsReady: z.int().min(0).describe('How many are ready'),
    paths: z.record(z.string(), z.string()),
  })
  .meta({ id: 'FrontPage' });

const tensorMetadata = z
  .object({ name: z.string(), datatype, shape: z.array(z.int().min(-1)) })
  .meta({ id: 'TensorMetadata' });

export const modelMetadataSchema = z
  .object({
    name: z.string(),
    versions: z.array(z.string()),
    platform: z.string(),
    inputs: z.array(tensorMetadata),
    outputs: z.array(tensorMetadata),
    parameters: z
      .object({
        shares_runs: z.boolean(),
        row_verdict: z.enum(['independent', 'dependent', 'unknown']),
        row_verdict_node: z.string().optional(),
        shares_runs_reason: z.string(),
      })
      .optional()
      .describe(
        'Whether requests of different callers share runs of the model, and why; absent for models without a graph',
      ),
  })
  .meta({ id: 'ModelMetadata' });

export const inferRequestSchema = z
  .object({
    id: z.string().optional(),
    parameters: requestParameters.optional(),
    inputs: z.array(
      z.object({
        name: z.string().min(1),
        shape,
        datatype,
        parameters: parameters.optional(),
        data: data.optional(),
      }),
    ),
    outputs: z.array(z.object({ name: z.string().min(1), parameters: parameters.optional() })).optional(),
  })
  .meta({ id: 'InferRequest' });

export const inferResponseSchema = z
  .object({
    id: z.string().optional(),
    model_name: z.string(),
    model_version: z.string(),
    outputs: z.array(
      z.object({ name: z.string(), datatype, shape, parameters: parameters.optional(), data: data.optional() }),
    ),
  })
  .meta({ id: 'InferResponse' });

export const healthSchema = z.object({ live: z.boolean(), ready: z.boolean() }).meta({ id: 'Health' });
