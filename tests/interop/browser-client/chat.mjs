/** docs/examples/chat in a browser: started by its command, its server killed and its page reloaded in the middle of a story. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';

const start = path.join(import.meta.dirname, '../../../docs/examples/chat/start.mjs');

export class Chat {
  #child;
  #printed = [];
  #lines;

  constructor() {
    this.#child = spawn(process.execPath, [start, '0', '0'], { stdio: ['ignore', 'pipe', 'inherit'] });
    this.#lines = createInterface({ input: this.#child.stdout });
    this.#lines.on('line', (line) => this.#printed.push(line));
  }

  /** The address of the page that the command prints. */
  async url() {
    return (await this.#line(/^open (http:.*)/))[1];
  }

  async ready() {
    await this.#line(/^model ready/);
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

/** A story with this seed; `inMiddle` is called when it has begun. */
export async function tellStory(tab, url, inMiddle) {
  const errors = [];
  tab.on('pageerror', (error) => errors.push(error.message));
  await tab.goto(`${url}/?seed=7`);
  await tab.locator('#suggestions button').first().click();
  await tab.waitForFunction(() => document.querySelector('.told')?.textContent.length > 20);
  await inMiddle();
  await tab.waitForSelector('#status[data-state=idle]');
  const [story, notes] = await tab.evaluate(() => [
    document.querySelector('.told').textContent,
    [...document.querySelectorAll('.note')].map(({ textContent }) => textContent),
  ]);
  if (errors.length > 0) throw new Error(errors.join('\n'));
  return { story, notes };
}
