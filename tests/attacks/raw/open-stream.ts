import { doubleModel } from '../attack-models.ts';
import type { Target } from '../target.ts';
import { type Http1Answer, oneAnswer, rawJsonRequest } from './http1.ts';

/** Opens a stream that nobody listens to. Without an id where it was refused, which the answer tells. */
export async function openStream(target: Target): Promise<{ id: string | undefined; answer: Http1Answer | undefined }> {
  const body = JSON.stringify({ context: doubleModel });
  const answer = await oneAnswer(target, rawJsonRequest(target, '/v1/streams', body));
  return { id: /"streamId": *"([^"]+)"/.exec(answer?.text ?? '')?.[1], answer };
}
