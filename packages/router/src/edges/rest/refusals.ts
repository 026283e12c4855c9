import { jsonContent } from '../routing/route.ts';
import { errorSchema } from './schemas.ts';

/** What operations on a model declare of their refusals, by status. */
export const refusals = {
  400: { description: 'The request is malformed', content: jsonContent(errorSchema) },
  404: { description: 'There is no such model or version', content: jsonContent(errorSchema) },
  429: { description: 'This caller has as many requests waiting as one may', content: jsonContent(errorSchema) },
  503: { description: 'The model is not ready or full; try again later', content: jsonContent(errorSchema) },
};
