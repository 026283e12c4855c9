/**
 * A web application that runs models itself: Fastify for HTTP, the engine of Millrace in the same program. No second server, no
 * network between them; requests that come at the same time share runs of the model.
 *
 *   node docs/examples/fastify/start.mjs [PORT]
 *   curl localhost:3000/reviews -H 'content-type: application/json' -d '{"text": "What a lovely film!"}'
 */
import { join } from 'node:path';
import Fastify from 'fastify';
import { createEngine } from 'millrace';

const [port = '3000'] = process.argv.slice(2);
const engine = await createEngine({
  models: join(import.meta.dirname, '../../../models'),
  control: { controlMode: 'explicit', load: ['sentiment', 'sentiment_tensors'] },
});

const app = Fastify();
app.addHook('onClose', () => engine.close());

const body = {
  type: 'object',
  required: ['text'],
  additionalProperties: false,
  properties: { text: { type: 'string', minLength: 1, maxLength: 2000 } },
};
app.post('/reviews', { schema: { body } }, async (request, reply) => {
  // A caller that goes away takes its request with it.
  const left = new AbortController();
  reply.raw.once('close', () => left.abort());
  const text = { shape: [1], data: [request.body.text] };
  const { outputs } = await engine.infer('sentiment', { text }, { signal: left.signal, timeoutMs: 5000 });
  return { label: outputs.label.data[0], probability: outputs.probability.data[0] };
});
app.get('/models', async () => engine.statuses().map(({ name, version, state }) => ({ name, version, state })));

await app.listen({ port: Number(port), host: '127.0.0.1' });
console.log(`post reviews to http://127.0.0.1:${app.server.address().port}/reviews`);
for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => void app.close());
