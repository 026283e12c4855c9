/** The routes of inference: path, header fields and body. */
import * as z from 'zod';
import { requestTimeoutMsMax, timeoutField } from '../request-deadline.ts';
import { jsonContent, type Route } from '../routing/route.ts';
import { headerLengthField } from './decode-request.ts';
import type { RestInferOperation } from './infer.ts';
import { type ModelOperationDependencies, modelOperation } from './model-operation.ts';
import { refusals } from './refusals.ts';
import { inferRequestSchema, inferResponseSchema } from './schemas.ts';

export function inferRoutes(dependencies: ModelOperationDependencies, operation: RestInferOperation): readonly Route[] {
  return modelOperation(dependencies, {
    method: 'POST',
    suffix: '/infer',
    name: 'Infer',
    summary: 'Run a model',
    headers: {
      [headerLengthField]: z
        .int()
        .min(0)
        .describe(
          'Bytes of JSON in front of the body; 0: none, the body is the one input, and the outputs are binary unless Accept has application/json; absent: all is JSON',
        ),
      [timeoutField]: z
        .int()
        .min(1)
        .max(requestTimeoutMsMax)
        .describe('Deadline of the request, in milliseconds from now; absent: none'),
    },
    request: {
      description: 'JSON, or JSON followed by binary tensors as Inference-Header-Content-Length says',
      content: { ...jsonContent(inferRequestSchema), 'application/octet-stream': undefined },
    },
    responses: {
      200: {
        description: 'JSON, or JSON followed by binary tensors as Inference-Header-Content-Length says',
        content: { ...jsonContent(inferResponseSchema), 'application/octet-stream': undefined },
      },
      ...refusals,
    },
    run: ({ request }, model, version) => operation.run(request, model, version),
  });
}
