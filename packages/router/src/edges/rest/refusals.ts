import { errorSchema } from '../routing/encode-error.ts';
import { jsonContent } from '../routing/route.ts';

/** The declared refusals of operations on a model, by status. */
export const refusals = {
  400: { description: 'The request is malformed', content: jsonContent(errorSchema) },
  404: { description: 'There is no such model or version', content: jsonContent(errorSchema) },
  429: { description: 'This caller has reached its limit of waiting requests', content: jsonContent(errorSchema) },
  503: { description: 'The model is not ready or full; try again later', content: jsonContent(errorSchema) },
};
