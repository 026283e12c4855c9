/** Bodies of the edge of server-sent events in the OpenAPI document. docs/reference/streams.md explains the fields. */
import * as z from 'zod';

const credit = z
  .object({ messages: z.int().min(0), bytes: z.int().min(0) })
  .describe('Counted from the sequence in the same object')
  .meta({ id: 'StreamCredit' });

const tensor = z
  .object({
    name: z.string(),
    datatype: z.string(),
    shape: z.array(z.int().min(0)).optional(),
    data: z.array(z.unknown()).describe('Flat or nested').optional(),
    raw: z.string().describe('Base64, instead of data').optional(),
  })
  .meta({ id: 'StreamTensor' });

const payload = {
  tensors: z.array(tensor).optional(),
  text: z.string().optional(),
  bytes: z.string().describe('Base64').optional(),
  end_of_input: z.boolean().describe('No input follows').optional(),
  event_time_ms: z.int().optional(),
  deadline_ms: z.int().min(0).optional(),
};

export const streamBodySchema = z
  .object({
    context: z.string().describe('model, model:version or model@label'),
    parameters: z.looseObject({}).optional(),
    input: z.object(payload).describe('The first input; it needs no sequence').optional(),
    end_of_input: z.boolean().describe('No input follows').optional(),
    stream_id: z.string().describe('Left out, the server chooses one with 128 random bits').optional(),
    client_id: z.string().describe('Tells the connections of this client from those of another one').optional(),
    attempt: z.int().min(0).describe('Counts the connections of that client').optional(),
  })
  .meta({ id: 'StreamRequest' });

export const streamInputSchema = z
  .object({ sequence: z.int().min(1), ...payload })
  .describe('At most one of tensors, text and bytes')
  .meta({ id: 'StreamInput' });

export const streamAcknowledgeSchema = z
  .object({ output: z.int().min(0), output_credit: credit.optional() })
  .meta({ id: 'StreamAcknowledge' });

export const streamOpenedSchema = z
  .object({
    streamId: z.string(),
    epoch: z.int(),
    model: z.string(),
    version: z.string(),
    protocolVersion: z.int(),
    acceptedInput: z.int().describe('The highest input that is durably accepted'),
    nextOutput: z.int(),
    inputCredit: credit,
    warnings: z.array(z.string()).optional(),
  })
  .meta({ id: 'StreamOpened' });

export const streamAcceptedSchema = z
  .object({ input: z.int().describe('The highest input that is durably accepted'), inputCredit: credit.optional() })
  .meta({ id: 'StreamAccepted' });

export const streamEventsSchema = z
  .string()
  .describe('Events opened, accepted, output, draining, ended and error; the id of an output is its sequence');
