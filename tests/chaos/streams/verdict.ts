/** What a run proves, one check a line, with the figures that go with it. */
import { errorCatalogue } from '@millrace/protocol';
import type { DurableClient } from './durable-client.ts';
import { edgeFigures, writtenEdges } from './edge-figures.ts';
import { type Faults, faultKinds } from './faults.ts';
import type { GapWatch } from './gap-watch.ts';
import type { JournalWatch } from './journal-watch.ts';
import type { StreamRun } from './stream-run.ts';

export interface VerdictParts {
  readonly run: StreamRun;
  readonly faults: Faults;
  readonly gaps: GapWatch;
  readonly usage: JournalWatch;
  readonly exitCode: number | null;
  /** Streams that are open at once. */
  readonly seats: number;
  /** Models that every edge is to carry. */
  readonly models: readonly string[];
}

/** What the journal may hold for each stream of the run, and for each that is open: those that ended can be resumed for a while. */
const journalBytesAStream = 32 * 1024;
const journalBytesAnOpenStream = 768 * 1024;
/** The router may be larger in the second half of a run by this much. */
const growthMax = 1.3;
const slackBytes = 32 * 1024 ** 2;
/** A file of which a part is mapped twice has more pages in the memory of the router than it has in all. */
const mappedSlackBytes = 1024 ** 2;

/** Prints the report; true: all checks passed. */
export function verdictOn({ run, faults, gaps, usage, exitCode, seats, models }: VerdictParts): boolean {
  const { clients } = run;
  const done = clients.filter(isDone);
  const lost = clients.filter((client) => isWorkerLost(client));
  const cancelled = clients.filter((client) => isCancelled(client));
  const edges = edgeFigures(run, models);
  const outputs = clients.reduce((sum, { lastOutput }) => sum + lastOutput, 0);
  const resumes = clients.reduce((sum, client) => sum + client.resumes, 0);
  console.log(
    `${clients.length} streams, ${outputs} outputs, ${resumes} resumes: ${done.length} done, ${lost.length} worker-lost, ${cancelled.length} cancelled`,
  );
  console.log(`edges:\n${writtenEdges(edges)}`);
  console.log(`faults: ${[...faults.counts].map(([kind, count]) => `${kind} ${count}`).join(', ')}`);
  const recoveries = faults.recoveriesMs.map((ms) => ms.toFixed(0)).join(', ');
  console.log(`all models ready after a router kill: ${recoveries} ms`);
  console.log(`gaps:\n${gaps.report()}`);
  const growth = { journal: usage.growthOf('journalBytes'), router: usage.growthOf('memoryBytes') };
  for (const [name, { before, after }] of Object.entries(growth)) {
    console.log(`${name}: at most ${mebibytes(before)} in the first half, ${mebibytes(after)} in the second`);
  }
  console.log(`every 15 s, journal / router: ${seriesOf(usage)}`);

  const journalBytesMax = clients.length * journalBytesAStream + seats * journalBytesAnOpenStream;
  const { before, after } = growth.router;
  const without = (word: string): boolean =>
    !clients.some(({ problems }) => problems.some((problem) => problem.startsWith(word)));
  const checks: readonly (readonly [string, boolean])[] = [
    ['no output was lost', without('lost')],
    ['no output came twice', without('doubled')],
    ['every output is that of the undisturbed run', without('different')],
    ['every text says how many tokens it has, and has them', clients.every(hasRightUsage)],
    ['no stream was refused', without('refused')],
    ['no stream was stuck', without('stuck')],
    ['nothing else was wrong', clients.every(({ problems }) => problems.length === 0) && faults.problems.length === 0],
    ['every edge had streams of every model', edges.every(({ missingModels }) => missingModels.length === 0)],
    ['every edge had a stream that was resumed', edges.every(({ resumes }) => resumes > 0)],
    [
      'every stream ended with an outcome, and a code of the catalogue unless it is done',
      clients.every(hasTypedEnding),
    ],
    [
      'every stream that can be resumed is done, or was cancelled by its client',
      clients.every((client) => !client.options.plan.isResumable || isDone(client) || isCancelled(client)),
    ],
    ['the others may have lost their worker by a kill', clients.every((client) => isRightlyEnded(client, faults))],
    ['every kind of fault was made', faultKinds.every((kind) => (faults.counts.get(kind) ?? 0) > 0)],
    ['the journal is bounded', Math.max(growth.journal.before, growth.journal.after) <= journalBytesMax],
    [
      'no page of the journal counts twice in the memory of the router',
      usage.samples.every(({ mappedBytes, journalBytes }) => mappedBytes <= journalBytes + mappedSlackBytes),
    ],
    ['the memory of the router does not grow', after <= before * growthMax + slackBytes],
    ['the server ends in order', exitCode === 0],
  ];
  for (const [what, isSo] of checks) console.log(`${isSo ? 'ok    ' : 'FAILED'} ${what}`);
  printProblems(clients, faults);
  const failed = checks.filter(([, isSo]) => !isSo).length;
  console.log(`${checks.length - failed} passed, ${failed} failed`);
  return failed === 0;
}

function isWorkerLost({ ending }: DurableClient): boolean {
  return ending?.outcome === 'failed' && ending.code === 'worker-lost';
}

function isDone({ ending }: DurableClient): boolean {
  return ending?.outcome === 'done';
}

/** The last token of each text says how many there were; outputs are equal to the undisturbed ones, so every number counts once. */
function hasRightUsage(client: DurableClient): boolean {
  if (client.options.plan.model !== 'storyteller' || !isDone(client)) return true;
  return client.texts.every(({ tokens, said }) => tokens > 0 && tokens === said);
}

/** By itself, and not because the server gave it up. */
function isCancelled({ ending, options, lastOutput }: DurableClient): boolean {
  return ending?.outcome === 'cancelled' && options.cancelAfter !== undefined && lastOutput >= options.cancelAfter;
}

function hasTypedEnding({ ending }: DurableClient): boolean {
  return ending?.outcome === 'done' || (ending?.code !== undefined && ending.code in errorCatalogue);
}

function isRightlyEnded(client: DurableClient, faults: Faults): boolean {
  if (isDone(client) || isCancelled(client)) return true;
  return !client.options.plan.isResumable && isWorkerLost(client) && faults.wasKilledDuring(client);
}

/** The first of each kind, with what happened to its stream. */
function printProblems(clients: readonly DurableClient[], faults: Faults): void {
  const wrong = clients.filter((client) => client.problems.length > 0 || !isRightlyEnded(client, faults));
  const shown = new Set<string>();
  for (const client of wrong) {
    const first =
      client.problems[0] ?? `ended ${client.ending?.outcome} ${client.ending?.code ?? ''} ${client.ending?.message}`;
    const kind = first.replace(/[\s:].*$/s, client.problems.length > 0 ? '' : (client.ending?.code ?? ''));
    if (shown.has(kind)) continue;
    shown.add(kind);
    console.log(`\n! ${first}\n  ${client.history}`);
  }
  if (wrong.length > 0) console.log(`\n${wrong.length} streams went wrong`);
  for (const problem of faults.problems.slice(0, 3)) console.log(`\n! ${problem}`);
}

function seriesOf({ samples }: JournalWatch): string {
  return samples
    .filter((_, index) => index % 15 === 0)
    .map(({ journalBytes, memoryBytes }) => `${mebibytes(journalBytes)}/${mebibytes(memoryBytes)}`)
    .join(' ');
}

function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`;
}
