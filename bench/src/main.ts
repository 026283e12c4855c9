/**
 * `npm run bench [-- NAME… --repetitions N --seconds S]`: runs scenarios, prints ratios, writes bench/results. `quick` and
 * `history` in place of names: the work tree against the commit before it.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { availableParallelism, cpus, loadavg } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { drawHistory, runQuick } from './history/quick.ts';
import { pinning } from './pinned-process.ts';
import { markdownFrom, resultFrom, type ScenarioResult } from './report.ts';
import type { ReportTable, Sample, Scenario } from './scenario.ts';
import { attacksScenario } from './scenarios/attacks.ts';
import { batchingScenario } from './scenarios/batching.ts';
import { clientUnaryScenario } from './scenarios/client-unary.ts';
import { dataPlaneScenario } from './scenarios/data-plane.ts';
import { generatorsScenario } from './scenarios/generators.ts';
import { grpc600kScenario } from './scenarios/grpc-600k.ts';
import { grpcInferScenario, oneCallerGrpcScenario } from './scenarios/grpc-infer.ts';
import { grpcNoopScenario } from './scenarios/grpc-noop.ts';
import { grpcStreamScenario } from './scenarios/grpc-stream.ts';
import { idleMemoryScenario } from './scenarios/idle-memory.ts';
import { idleStreamsScenario } from './scenarios/idle-streams.ts';
import { inlineOverheadScenario } from './scenarios/inline-overhead.ts';
import { largeTensorsScenario } from './scenarios/large-tensors.ts';
import { loadLatencyScenario, overloadScenario } from './scenarios/load-latency.ts';
import { manyModelsScenario } from './scenarios/many-models.ts';
import { memoryBudgetScenario } from './scenarios/memory-budget.ts';
import { neighbourLoadScenario } from './scenarios/neighbour-load.ts';
import { restBinaryScenario, restJsonScenario } from './scenarios/rest.ts';
import { saturationScenario } from './scenarios/saturation.ts';
import { streamEventsScenario } from './scenarios/stream-events.ts';
import { streamResumeGapsScenario } from './scenarios/stream-resume-gaps.ts';
import { streamsScenario } from './scenarios/streams.ts';
import { tlsScenario } from './scenarios/tls.ts';
import { wireAttacksScenario } from './scenarios/wire-attacks.ts';
import { wireUnaryScenario } from './scenarios/wire-unary.ts';
import { missingTools } from './tools.ts';

const scenarios: readonly Scenario[] = [
  grpcNoopScenario,
  grpcInferScenario,
  clientUnaryScenario,
  grpc600kScenario,
  largeTensorsScenario,
  grpcStreamScenario,
  streamsScenario,
  streamResumeGapsScenario,
  streamEventsScenario,
  idleStreamsScenario,
  oneCallerGrpcScenario,
  tlsScenario,
  idleMemoryScenario,
  restBinaryScenario,
  restJsonScenario,
  inlineOverheadScenario,
  dataPlaneScenario,
  saturationScenario,
  batchingScenario,
  generatorsScenario,
  loadLatencyScenario,
  overloadScenario,
  neighbourLoadScenario,
  memoryBudgetScenario,
  manyModelsScenario,
  wireUnaryScenario,
  wireAttacksScenario,
  attacksScenario,
];

const root = fileURLToPath(new URL('../..', import.meta.url));
if (process.argv[2] === 'quick') process.exit(await runQuick(root, process.argv.slice(3)));
if (process.argv[2] === 'history') {
  drawHistory(root);
  process.exit(0);
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    repetitions: { type: 'string', default: '5' },
    seconds: { type: 'string', default: '4' },
    warmup: { type: 'string', default: '2' },
    list: { type: 'boolean', default: false },
    /** Also for chosen scenarios: a run of all is always written. */
    write: { type: 'boolean', default: false },
  },
});

if (values.list) {
  for (const { name, title } of scenarios) console.log(`${name.padEnd(18)} ${title}`);
  process.exit(0);
}
const unknown = positionals.filter((name) => !scenarios.some((scenario) => scenario.name === name));
if (unknown.length > 0) {
  console.error(`no such scenario: ${unknown.join(', ')}; --list shows them`);
  process.exit(2);
}

const chosen = positionals.length === 0 ? scenarios : scenarios.filter(({ name }) => positionals.includes(name));
const missing = missingTools(chosen);
if (missing.length > 0) {
  console.error(missing.join('\n'));
  console.error('Nothing was run. Name scenarios to leave others out; --list shows them.');
  process.exit(2);
}
const options = { seconds: Number(values.seconds), warmupSeconds: Number(values.warmup) };
const results: ScenarioResult[] = [];
for (const scenario of chosen) {
  console.log(`\n${scenario.title}`);
  const open = await scenario.open(options);
  const samples: Sample[] = [];
  let tables: readonly ReportTable[] = [];
  try {
    for (let repetition = 0; repetition < Number(values.repetitions); repetition++) {
      const sample = await open.measure(repetition);
      samples.push(sample);
      const figures = Object.entries(sample).map(([name, figure]) => `${name} ${figure.toPrecision(4)}`);
      console.log(`  ${repetition + 1}: ${figures.join(', ')} ${scenario.unit}`);
    }
    tables = open.tables?.() ?? [];
  } finally {
    await open.close();
  }
  results.push(resultFrom(scenario, samples, loadavg()[0] as number, tables));
}

const machine = `${cpus()[0]?.model ?? 'unknown processor'}, ${availableParallelism()} cores, Node ${process.versions.node}, ${pinning}`;
const text = markdownFrom(results, machine);
console.log(`\n${text}`);
const folder = fileURLToPath(new URL('../results', import.meta.url));
if (values.write || positionals.length === 0) {
  mkdirSync(folder, { recursive: true });
  for (const result of results) {
    writeFileSync(join(folder, `${result.name}.json`), `${JSON.stringify({ machine, ...result }, undefined, 2)}\n`);
  }
  // The page shows the newest result of every scenario, whenever it was run.
  const newest = scenarios.flatMap(({ name }) => {
    const file = join(folder, `${name}.json`);
    return existsSync(file) ? [JSON.parse(readFileSync(file, 'utf8')) as ScenarioResult] : [];
  });
  writeFileSync(join(folder, 'README.md'), markdownFrom(newest, machine));
}
