/**
 * A server in a program of its own that moves labels and a split as fast as it can, answers requests meanwhile, and says what
 * has been acknowledged; to be killed by a test: `node move-labels.js MODELS STORE`.
 */
import { writeSync } from 'node:fs';
import { createEngine } from 'millrace';

const [models, store] = process.argv.slice(2) as [string, string];
const engine = await createEngine({ models, worker: { lane: 'inline' }, store: { path: store } });
const values = {
  left: { shape: [1, 2], data: Float32Array.of(3, 5) },
  right: { shape: [1, 2], data: Float32Array.of(4, 6) },
};

writeSync(1, `open ${engine.traffic('calculator').revision}\n`);
await Promise.all([moveForever(), askForever()]);

/** Both labels and the split always stand for one version: a record that shows two was torn. */
async function moveForever(): Promise<never> {
  for (let move = 0; ; move++) {
    const version = `${(move % 2) + 1}`;
    const policy = await engine.changeTraffic('calculator', {
      labels: new Map([
        ['stable', version],
        ['canary', version],
      ]),
      split: [{ version, weight: 1 }],
    });
    writeSync(1, `moved ${policy.revision} ${version}\n`);
  }
}

async function askForever(): Promise<never> {
  for (;;) {
    const name = engine.traffic('calculator').labels.has('stable') ? 'calculator@stable' : 'calculator';
    const { version, outputs } = await engine.infer(name, values);
    const expected = version === '2' ? 12 : 7;
    if (outputs.output?.data[0] !== expected) writeSync(1, `wrong ${version} ${outputs.output?.data[0]}\n`);
  }
}
