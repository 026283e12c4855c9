/** No request is lost when a worker dies on a GPU, and a new worker is started there. */
import assert from 'node:assert/strict';
import type { EmbeddedEngine } from 'millrace';
import { eventually } from '../support/eventually.ts';
import type { Checks } from './checks.ts';
import { differenceMax, imagesOf, logitsOf, relativeDifference, withModels } from './gpu-model.ts';
import { hasGpuOpen } from './gpu-processes.ts';

const callers = 16;
const imagesMade = 8;
/** Between one kill and the next, and before the first. */
const answersBetween = 200;
const kills = 2;
/** A load on a GPU takes some seconds: the driver's context, libraries of a gigabyte, the weights. */
const restartMsMax = 120_000;

export async function checkKilledWorkers(checks: Checks, file: string): Promise<void> {
  for (const count of [1, 2]) {
    const config = `max_batch_size: 8 instance_group { kind: KIND_GPU count: ${count} gpus: [ 0 ] }`;
    await withModels(file, { m: config }, (engine) =>
      checks.check(`a worker killed under load loses no request, with ${count} on the GPU`, () =>
        killUnderLoad(engine, count),
      ),
    );
  }
}

async function killUnderLoad(engine: EmbeddedEngine, count: number): Promise<string> {
  const images = Array.from({ length: imagesMade }, (_, index) => imagesOf(index + 1, 1));
  const expected = await Promise.all(images.map((image) => logitsOf(engine, 'm', image)));
  let sent = 0;
  let right = 0;
  let isOver = false;
  const problems: string[] = [];
  const caller = async (): Promise<void> => {
    while (!isOver) {
      const which = sent % images.length;
      sent += 1;
      try {
        const answer = await logitsOf(engine, 'm', images[which] as Float32Array);
        if (relativeDifference(answer, expected[which] ?? []) <= differenceMax) right += 1;
        else problems.push('an answer to another request');
      } catch (error) {
        problems.push(String(error));
      }
    }
  };
  const load = Promise.all(Array.from({ length: callers }, caller));
  const restartsMs: number[] = [];
  try {
    for (let kill = 0; kill < kills; kill++) {
      await answers(answersBetween);
      await eventually('all workers are there', () => pids(engine).length === count, restartMsMax);
      const victim = pids(engine)[0];
      assert.ok(victim !== undefined, 'there is no worker to kill');
      const killedAt = performance.now();
      process.kill(victim, 'SIGKILL');
      await eventually(
        'another worker is ready',
        () => !pids(engine).includes(victim) && pids(engine).length === count,
        restartMsMax,
      );
      restartsMs.push(performance.now() - killedAt);
    }
    await answers(answersBetween);
    for (const pid of pids(engine)) assert.ok(hasGpuOpen(pid), `worker ${pid} has no GPU open`);
  } finally {
    isOver = true;
    await load;
  }
  assert.deepEqual([...new Set(problems)], []);
  assert.equal(right, sent);
  const seconds = restartsMs.map((ms) => (ms / 1000).toFixed(1)).join(' and ');
  return `${sent} requests, ${right} right, ${kills} killed, replaced after ${seconds} s`;

  async function answers(more: number): Promise<void> {
    const until = right + problems.length + more;
    await eventually(`${more} more are answered`, () => right + problems.length >= until, restartMsMax);
  }
}

/** Of the workers that serve the model now; one that still loads it does not. */
function pids(engine: EmbeddedEngine): readonly number[] {
  return engine.management.instances().flatMap(({ pid }) => (pid === undefined ? [] : [pid]));
}
