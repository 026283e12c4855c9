import { expect, test } from 'vitest';
import type { DurableClient } from './durable-client.ts';
import { edgeFigures, writtenEdges } from './edge-figures.ts';
import { dialects } from './edges.ts';
import { streamedModels } from './stream-plans.ts';

const [first, ...others] = dialects;

function clientOf(model: string, problems: readonly string[]): DurableClient {
  return {
    options: { dialect: first, plan: { model } },
    lastOutput: 7,
    resumes: 2,
    silences: 1,
    problems,
  } as unknown as DurableClient;
}

test('what went by an edge is counted, and an edge without streams is named', () => {
  const clients = streamedModels.map((model, index) => clientOf(model, index === 0 ? ['lost: output 3'] : []));
  const [figures, ...empty] = edgeFigures({ clients }, streamedModels);
  expect(figures).toEqual({
    edge: first?.name,
    streams: 4,
    outputs: 28,
    resumes: 8,
    silences: 4,
    wrong: 1,
    missingModels: [],
  });
  expect(empty.map(({ edge, streams, missingModels }) => [edge, streams, missingModels])).toEqual(
    others.map(({ name }) => [name, 0, streamedModels]),
  );
  expect(writtenEdges(empty.slice(0, 1))).toBe(
    `  ${others[0]?.name}: 0 streams, 0 outputs, 0 resumes, 0 silences, 0 wrong, no stream of listener_tensors, counter, counter_once, storyteller`,
  );
});
