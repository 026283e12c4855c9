/** docs/examples/chat in a browser: its server is killed and its page reloaded in the middle of a story. */
import { unhandledIn } from './started-example.mjs';

/** A story with this seed; `inMiddle` is called when it has begun. */
export async function tellStory(tab, url, inMiddle) {
  const errors = await unhandledIn(tab);
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
