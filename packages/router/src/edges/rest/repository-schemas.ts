/** The bodies of Triton's model repository extension in the OpenAPI document. */
import * as z from 'zod';

export const indexRequestSchema = z.object({ ready: z.boolean().optional() });
export const repositoryIndexSchema = z
  .array(
    z.object({
      name: z.string(),
      version: z.string().optional(),
      state: z.enum(['UNKNOWN', 'READY', 'UNAVAILABLE', 'LOADING', 'UNLOADING']).optional(),
      reason: z.string().optional(),
    }),
  )
  .meta({ id: 'RepositoryIndex' });
export const repositoryLoadSchema = z.object({
  parameters: z
    .object({ config: z.string().describe('The whole configuration as JSON').optional() })
    .catchall(z.string().describe('Named file:PATH, a file of the model in base64'))
    .optional(),
});
export const repositoryUnloadSchema = z.object({
  parameters: z.object({ unload_dependents: z.boolean().optional() }).optional(),
});
