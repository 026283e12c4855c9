/** A page of docs/examples, started by its command. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';

export class StartedExample {
  #child;
  #printed = [];
  #lines;

  /** `chat`: a folder of docs/examples. */
  constructor(name) {
    const start = path.join(import.meta.dirname, '../../../docs/examples', name, 'start.mjs');
    this.#child = spawn(process.execPath, [start, '0', '0'], { stdio: ['ignore', 'pipe', 'inherit'] });
    this.#lines = createInterface({ input: this.#child.stdout });
    this.#lines.on('line', (line) => this.#printed.push(line));
  }

  /** The address of the page that the command prints. */
  async url() {
    return (await this.#line(/^open (http:.*)/))[1];
  }

  async ready(model) {
    await this.#line(new RegExp(`^model ready ${model}$`));
  }

  /** As the command says it. */
  async killServer() {
    const [, pid] = await this.#line(/kill -9 (\d+)/);
    process.kill(Number(pid), 'SIGKILL');
  }

  async stop() {
    this.#child.kill('SIGTERM');
    const [code] = await once(this.#child, 'exit');
    return code;
  }

  /** The last one that matches. */
  async #line(pattern) {
    for (;;) {
      const found = this.#printed.findLast((line) => pattern.test(line));
      if (found !== undefined) return pattern.exec(found);
      await once(this.#lines, 'line');
    }
  }
}

/**
 * Failures that a page did not handle, over all its reloads. From the events of the page and not from the browser's log, where
 * Firefox writes a lost WebSocket as an error, whether or not the page handles it.
 */
export async function unhandledIn(tab) {
  const errors = [];
  await tab.exposeFunction('tellUnhandled', (message) => void errors.push(message));
  await tab.addInitScript(() => {
    addEventListener('error', ({ message }) => globalThis.tellUnhandled(message));
    addEventListener('unhandledrejection', ({ reason }) => globalThis.tellUnhandled(String(reason)));
  });
  return errors;
}
