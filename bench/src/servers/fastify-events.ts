/** What one would write with fastify for the same events: a loop over what the model gives, no journal, no resume. */
import { once } from 'node:events';
import Fastify from 'fastify';
import { chunkOutput, httpStreamPath, lastOutput, outputEvent, type StreamOutputMessage } from '../stream-messages.ts';

interface OpenBody {
  readonly input: { readonly tensors: readonly { readonly data: readonly number[] }[] };
}

async function* chunks(count: number): AsyncGenerator<StreamOutputMessage> {
  for (let sequence = 1; sequence <= count; sequence++) yield chunkOutput(sequence);
}

const app = Fastify();

app.post<{ Body: OpenBody }>(httpStreamPath, async (request, reply) => {
  const count = request.body.input.tensors[0]?.data[0] ?? 0;
  reply.hijack();
  const response = reply.raw;
  response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' });
  for await (const output of chunks(count)) {
    if (!response.write(outputEvent(output))) await once(response, 'drain');
  }
  response.write(outputEvent(lastOutput(count + 1)));
  response.end(`event: ended\nid: end\ndata: {"outcome":"done","outputs":${count + 1}}\n\n`);
});

await app.listen({ host: '127.0.0.1', port: 0 });
const address = app.server.address() as { port: number };
process.stdout.write(`listening on ${address.port}\n`);
process.on('SIGTERM', () => process.exit(0));
