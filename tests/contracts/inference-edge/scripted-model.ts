/**
 * A model that does what its input says, so that a test decides when a run ends: `pass NAME`, `hold NAME` until the test
 * releases it, `decline NAME` likewise but with a refusal, `listen NAME` likewise or until nobody waits for it, `die NAME` by
 * the end of its worker process. It notes what it begins.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Tensor } from '@millrace/protocol';
import { eventually } from '../../support/eventually.ts';
import { exactTensor } from './tensors.ts';

export type Verb = 'pass' | 'hold' | 'decline' | 'listen' | 'die';

export class Script {
  readonly #folder = mkdtempSync(join(tmpdir(), 'millrace-script-'));
  readonly #notes = join(this.#folder, 'notes');
  readonly #held = new Set<string>();
  #names = 0;

  constructor() {
    writeFileSync(this.#notes, '');
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true });
  }

  /** Names are of one request each: what was noted for another one is not mistaken for it. */
  name(prefix: string): string {
    this.#names += 1;
    const name = `${prefix}-${this.#names}`;
    this.#held.add(name);
    return name;
  }

  notes(): readonly string[] {
    return readFileSync(this.#notes, 'utf8').split('\n').slice(0, -1);
  }

  hasBegun(name: string): boolean {
    return this.notes().includes(`${name} begins`);
  }

  /** Resolves when the run of this name has begun. */
  begun(name: string): Promise<void> {
    return eventually(`${name} runs`, () => this.hasBegun(name));
  }

  /** Resolves when the run of this name knows that nobody waits for it. */
  told(name: string): Promise<void> {
    return eventually(`${name} is told to end`, () => this.notes().includes(`${name} is told`));
  }

  release(name: string): void {
    this.#held.delete(name);
    writeFileSync(join(this.#folder, name), '');
  }

  releaseAll(): void {
    for (const name of this.#held) this.release(name);
  }

  /** The module of the model. */
  source(): string {
    return `
import { appendFileSync, existsSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { definePipeline, invalid } from 'millrace/pipeline';
const note = (text) => appendFileSync(${JSON.stringify(this.#notes)}, text + '\\n');
export default definePipeline({
  inputs: { say: { datatype: 'BYTES', shape: [1] } },
  outputs: { said: { datatype: 'BYTES', shape: [1] } },
  async run({ inputs }, { signal }) {
    const [bytes] = inputs.say.data;
    const [verb, name] = new TextDecoder().decode(bytes).split(' ');
    note(name + ' begins');
    signal.addEventListener('abort', () => note(name + ' is told'));
    const isReleased = () => existsSync(${JSON.stringify(`${this.#folder}/`)} + name);
    if (verb !== 'pass' && verb !== 'die') while (!isReleased() && !(verb === 'listen' && signal.aborted)) await pause(5);
    if (verb === 'decline') throw invalid(name + ' is declined');
    if (verb === 'die') process.abort();
    return { said: { data: [bytes.subarray(verb.length + 1)] } };
  },
});`;
  }
}

export function saying(verb: Verb, name: string): readonly Tensor[] {
  return [exactTensor('say', 'BYTES', [1], [`${verb} ${name}`])];
}

export function said(name: string): readonly Tensor[] {
  return [exactTensor('said', 'BYTES', [1], [name])];
}
