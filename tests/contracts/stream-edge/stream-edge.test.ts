/** One suite for all edges of durable streams. A new edge adds a line. */
import { randomUUID } from 'node:crypto';
import type { InputFrame } from '@millrace/protocol';
import { ModelRepository } from '@millrace/worker/testing';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { events, eventsOfOnePost } from '../../chaos/streams/event-dialects.ts';
import { jsonInput } from '../../chaos/streams/frame-codec.ts';
import { grpcCollect, grpcGenerate, grpcStream } from '../../chaos/streams/grpc-dialects.ts';
import { socketJson, socketProtobuf } from '../../chaos/streams/socket-dialects.ts';
import { connectGenerate, grpcWebGenerate } from '../../chaos/streams/web-dialects.ts';
import { isLong } from '../../long-tests.ts';
import { writeRunningTotal } from '../../support/running-total.ts';
import { ServerProcess } from '../../support/server-process.ts';
import { collectedInputsContract } from './collected-inputs.ts';
import { EdgeClient, valueFrame } from './edge-client.ts';
import { type EdgeUnderTest, retainedOutputsMax } from './edge-under-test.ts';
import { manyInputsContract } from './many-inputs.ts';
import { oneInputContract } from './one-input.ts';

const models = writeRunningTotal(new ModelRepository());
let server: ServerProcess;
beforeAll(async () => {
  server = await ServerProcess.start([models.path, '--stream-retained-outputs-max', String(retainedOutputsMax)]);
}, 60_000);
afterAll(() => {
  server.child.kill('SIGKILL');
  models.remove();
});

const edge = (
  dialect: EdgeUnderTest['dialect'],
  lacks: EdgeUnderTest['lacks'] = {},
  more: Pick<EdgeUnderTest, 'sendAlone'> = {},
): EdgeUnderTest => ({ dialect, lacks, address: () => new URL(server.grpcUrl).host, ...more });

/** An input of a client that listens to events is a request of its own, and has its own answer. */
async function postInput(stream: string, input: InputFrame): Promise<string> {
  const answer = await fetch(`${server.url}/v1/streams/${stream}/inputs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(jsonInput(input)),
  });
  await answer.arrayBuffer();
  return answer.headers.get('millrace-error-code') ?? '';
}

const onlyEither = { modes: 'a POST opens or resumes, a GET resumes' };

const edges: readonly EdgeUnderTest[] = [
  edge(grpcStream),
  edge(socketJson),
  edge(socketProtobuf),
  edge(events, { ...onlyEither, 'output credit': 'what the transport takes is the credit' }, { sendAlone: postInput }),
  edge(grpcGenerate),
  edge(grpcWebGenerate),
  edge(connectGenerate),
  edge(eventsOfOnePost, onlyEither),
];

/** In `npm test` one of each kind: the others carry the same frames in other envelopes. */
const shortEdges = [grpcStream, events, grpcGenerate];
const tested = isLong ? edges : edges.filter(({ dialect }) => shortEdges.includes(dialect));

for (const one of tested) {
  if (one.dialect.hasOneInput) oneInputContract(one);
  else manyInputsContract(one);
}

collectedInputsContract(edge(grpcCollect));

// Last: it ends the server.
test('every client of a server that leaves is told so, and its stream waits for a resume', async () => {
  const clients = await Promise.all(
    tested
      .filter(({ dialect }) => !dialect.hasOneInput)
      .map(async ({ dialect, address }) => {
        const client = await new EdgeClient(dialect, address(), { streamId: randomUUID() }).opened();
        await client.send(valueFrame(1, 1)).outputs(1);
        return client;
      }),
  );
  server.child.kill('SIGTERM');
  for (const client of clients) {
    expect(await client.refused()).toBe('draining');
    expect(client.frames.at(-1)?.kind).toBe('draining');
  }
  expect(await server.exit).toBe(0);
});
