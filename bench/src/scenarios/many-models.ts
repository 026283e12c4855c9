/** Repositories of many small models: how long a server takes to serve all of them, and how much memory its processes take. */
import { spawn } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { mlpPath } from '../mlp.ts';
import { firstMatch, stopped } from '../pinned-process.ts';
import { processFamily } from '../processor-time.ts';
import { pssBytesOf } from '../pss-bytes.ts';
import type { Goal, Sample, Scenario } from '../scenario.ts';

const counts = [26, 200, 1000] as const;
/** A process for each of a thousand models is more than most machines can hold. */
const apartMax = 200;
const megabyte = 1e6;
const millrace = createRequire(import.meta.url).resolve('millrace/bin/millrace.js');
const anyPorts = ['--http-port', '0', '--grpc-port', '0', '--metrics-port', '0'];
/** After the start, until memory is read. */
const settleMs = 2000;
const readyCheckMs = 20;

async function untilReady(url: string): Promise<void> {
  while ((await fetch(`${url}/v2/health/ready`)).status !== 200) await setTimeout(readyCheckMs);
}

/** Seconds until all models are served, and megabytes of all processes of the server after that. */
async function measureStart(repository: string, options: readonly string[]): Promise<readonly [number, number]> {
  const startedAt = performance.now();
  const command = [millrace, 'serve', repository, ...anyPorts, '--log-format', 'json', ...options];
  const server = spawn(process.execPath, command, { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const [, url] = await firstMatch(server, /"httpUrl":"([^"]+)"/);
    await untilReady(url as string);
    const seconds = (performance.now() - startedAt) / 1000;
    await setTimeout(settleMs);
    const pids = processFamily(server.pid as number);
    return [seconds, pids.reduce((sum, pid) => sum + pssBytesOf(pid), 0) / megabyte];
  } finally {
    await stopped(server);
  }
}

function memoryGoal(models: number, bound: number): Goal {
  return {
    statement: `${models} small models take at most ${bound} MB`,
    bound,
    isMinimum: false,
    value: (medians) => medians[`${models} models, MB`] as number,
  };
}

function startGoal(models: number): Goal {
  return {
    statement: `${models} small models are served at least 3x as soon as with a process each`,
    bound: 3,
    isMinimum: true,
    value: (medians) => (medians[`${models} models apart, s`] as number) / (medians[`${models} models, s`] as number),
  };
}

export const manyModelsScenario: Scenario = {
  name: 'many-models',
  title:
    'Small models (the MLP under many names): from the start of the server until all are served, and the memory of all its processes (PSS)',
  unit: 's, MB',
  contestants: counts.flatMap((models) => [`${models} models, s`, `${models} models, MB`]),
  goals: [memoryGoal(26, 250), memoryGoal(200, 1500), memoryGoal(1000, 4000), startGoal(26), startGoal(200)],
  open: async () => {
    const folder = mkdtempSync(join(tmpdir(), 'millrace-many-'));
    const repositoryOf = (models: number): string => join(folder, String(models));
    for (const models of counts) {
      for (let model = 0; model < models; model++) {
        const version = join(repositoryOf(models), `mlp_${model}`, '1');
        mkdirSync(version, { recursive: true });
        copyFileSync(mlpPath, join(version, 'model.onnx'));
      }
    }
    return {
      measure: async () => {
        const sample: Record<string, number> = {};
        for (const models of counts) {
          const [seconds, megabytes] = await measureStart(repositoryOf(models), []);
          Object.assign(sample, { [`${models} models, s`]: seconds, [`${models} models, MB`]: megabytes });
          if (models > apartMax) continue;
          const [apart, apartMegabytes] = await measureStart(repositoryOf(models), ['--no-share-workers']);
          Object.assign(sample, {
            [`${models} models apart, s`]: apart,
            [`${models} models apart, MB`]: apartMegabytes,
          });
        }
        return sample as Sample;
      },
      close: async () => rmSync(folder, { recursive: true }),
    };
  },
};
