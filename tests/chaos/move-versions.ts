/**
 * Versions swapped and labels moved under load: no request may fail, and every answer must come from a version that was
 * current at some moment between its sending and its receipt. A version adds its own number, so an answer that says one
 * version and was computed by another cannot pass.
 */
import { rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type ModelRepository, onnxModelFrom } from '@millrace/worker/testing';
import { type Caller, grpcCaller, restCaller } from '../support/callers.ts';
import { eventually } from '../support/eventually.ts';
import type { ServerProcess } from '../support/server-process.ts';

export const swappedModel = 'swapped';
export const labelledModel = 'labelled';
export const labelledVersions = ['1', '2', '3'];
export const label = 'stable';

/** The repository is polled often, and versions appear in it whole. */
export const watchOptions = [
  '--model-control-mode',
  'poll',
  '--repository-poll-secs',
  '1',
  '--repository-settle-secs',
  '0',
];

/** `output = input + version`. */
function versionModel(version: string): Uint8Array {
  return onnxModelFrom({
    inputs: [{ name: 'input', datatype: 'FP32', shape: ['batch', 1] }],
    outputs: [{ name: 'output', datatype: 'FP32', shape: ['batch', 1] }],
    nodes: [{ operator: 'Add', inputs: ['input', 'version'], outputs: ['output'] }],
    constants: [
      { name: 'version', datatype: 'FP32', shape: [1], data: new Uint8Array(Float32Array.of(Number(version)).buffer) },
    ],
  });
}

export function writeModels(models: ModelRepository): void {
  models.write(`${swappedModel}/config.pbtxt`, 'version_policy { latest { num_versions: 1 } }\n');
  models.write(`${swappedModel}/1/model.onnx`, versionModel('1'));
  models.write(`${labelledModel}/config.pbtxt`, 'version_policy { all { } }\n');
  for (const version of labelledVersions) {
    models.write(`${labelledModel}/${version}/model.onnx`, versionModel(version));
  }
}

/** When each version could answer: from the first moment at which it might, to the first at which it must not. */
class Currency {
  readonly #spans: { version: string; since: number; until: number }[] = [];

  begin(version: string): void {
    this.#spans.push({ version, since: performance.now(), until: Number.POSITIVE_INFINITY });
  }

  /** From now on only the version that was begun last. */
  settle(): void {
    for (const span of this.#spans.slice(0, -1)) span.until = Math.min(span.until, performance.now());
  }

  wasCurrent(version: string, sentAt: number, receivedAt: number): boolean {
    return this.#spans.some((span) => span.version === version && span.since <= receivedAt && span.until >= sentAt);
  }
}

export interface MoveOptions {
  readonly callers: number;
  readonly swaps: number;
  readonly moves: number;
}

export interface MoveReport {
  readonly answered: number;
  readonly failures: readonly string[];
  readonly versionsSeen: number;
}

export async function moveUnderLoad(
  server: ServerProcess,
  models: ModelRepository,
  { callers, swaps, moves }: MoveOptions,
): Promise<MoveReport> {
  const swapped = new Currency();
  const labelled = new Currency();
  swapped.begin('1');
  labelled.begin('1');
  await moveLabel(server, '1');
  const failures: string[] = [];
  const versions = new Set<string>();
  let answered = 0;
  const over = new AbortController();
  const load = async (call: Caller, number: number): Promise<void> => {
    for (let round = 0; !over.signal.aborted && failures.length < 10; round++) {
      const isSwapped = (number + round) % 2 === 0;
      const input = number * 1000 + (round % 1000);
      const sentAt = performance.now();
      const { version, output, problem } = await call.infer(
        isSwapped ? swappedModel : `${labelledModel}@${label}`,
        input,
      );
      const receivedAt = performance.now();
      if (problem !== undefined) failures.push(problem);
      else if (output !== input + Number(version)) failures.push(`version ${version} said ${output} to ${input}`);
      else if (!(isSwapped ? swapped : labelled).wasCurrent(version, sentAt, receivedAt)) {
        failures.push(`version ${version} answered when it was not current`);
      } else {
        answered += 1;
        versions.add(`${isSwapped}:${version}`);
      }
    }
  };
  const all = Array.from({ length: callers }, (_, index) => (index % 2 === 0 ? restCaller : grpcCaller)(server));
  const loads = all.map((call, index) => load(call, index));
  await Promise.all([swapAll(server, models, swapped, swaps), moveAll(server, labelled, moves)]);
  over.abort();
  await Promise.all(loads);
  for (const call of all) call.close();
  return { answered, failures, versionsSeen: versions.size };
}

async function swapAll(
  server: ServerProcess,
  models: ModelRepository,
  currency: Currency,
  swaps: number,
): Promise<void> {
  for (let swap = 1; swap <= swaps; swap++) {
    const version = String(swap + 1);
    // Written beside the repository and moved into it: a version appears whole, as a careful operator makes it appear.
    models.write(`.${version}/model.onnx`, versionModel(version));
    currency.begin(version);
    await rename(join(models.path, `.${version}`), join(models.path, swappedModel, version));
    await eventually(`version ${version} is served`, async () => {
      const answer = await fetch(`${server.url}/v2/models/${swappedModel}`);
      const { versions } = (await answer.json()) as { versions?: readonly string[] };
      return versions?.at(-1) === version;
    });
    currency.settle();
    await rm(join(models.path, swappedModel, String(swap)), { recursive: true });
  }
}

async function moveAll(server: ServerProcess, currency: Currency, moves: number): Promise<void> {
  for (let move = 1; move <= moves; move++) {
    const version = labelledVersions[move % labelledVersions.length] as string;
    currency.begin(version);
    await moveLabel(server, version);
    currency.settle();
  }
}

async function moveLabel(server: ServerProcess, version: string): Promise<void> {
  const answer = await fetch(`${server.url}/v1/management/models/${labelledModel}/labels/${label}`, {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ version }),
  });
  if (!answer.ok) throw new Error(`the label did not move: ${answer.status} ${await answer.text()}`);
  await answer.arrayBuffer();
}
