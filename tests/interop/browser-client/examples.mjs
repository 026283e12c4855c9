/** The pages of docs/examples, each started by its command. */
import { tellStory } from './chat.mjs';
import { StartedExample, unhandledIn } from './started-example.mjs';

export async function checkExamples({ check, mustEqual, context, browserName }) {
  /** `run` gets the example and opens tabs; the command ends well. */
  const checkExample = (title, name, model, run) =>
    check(title, async () => {
      const example = new StartedExample(name);
      try {
        const url = await example.url();
        await example.ready(model);
        return await run(example, url);
      } finally {
        mustEqual(await example.stop(), 0);
      }
    });

  await checkExample(
    'the chat of docs/examples tells the same story when its server is killed or its page reloaded',
    'chat',
    'storyteller',
    async (chat, url) => {
      const told = async (inMiddle) => {
        // Of its own: a tab keeps its stories.
        const tab = await context.newPage();
        const result = await tellStory(tab, url, () => inMiddle(tab));
        await tab.close();
        return result;
      };
      const whole = await told(() => {});
      mustEqual(whole.notes, []);
      if (whole.story.length < 200) throw new Error(`a short story: ${whole.story}`);
      const reloaded = await told(async (tab) => {
        await tab.reload();
        // What the page before had stored when it was left.
        const [{ isOver }] = await tab.evaluate(() => JSON.parse(sessionStorage.getItem('turns')));
        mustEqual(isOver, false);
        await tab.waitForSelector('.told');
      });
      mustEqual(reloaded, whole);
      const killed = await told(() => chat.killServer());
      mustEqual(killed.story, whole.story);
      mustEqual(killed.notes.length, 1);
      if (!killed.notes[0].endsWith('the story went on where it was.')) throw new Error(killed.notes[0]);
      return killed.notes[0];
    },
  );

  await checkExample(
    'the pictures of docs/examples: shapes are found in a chosen file, and what is no picture is said to be none',
    'pictures',
    'spotter',
    async (_, url) => {
      const tab = await context.newPage();
      const errors = await unhandledIn(tab);
      await tab.goto(url);
      await tab.locator('#sample').click();
      await tab.locator('#result').waitFor();
      const found = await tab.locator('#found').textContent();
      // As zoo/samples/answers.json has it.
      mustEqual(found, 'Found: square, ring, star, triangle.');
      const drawn = await tab.locator('#picture').evaluate(({ width, height }) => [width, height]);
      if (drawn[0] < 480 || drawn[1] < 100) throw new Error(`a small picture: ${drawn}`);
      const file = { name: 'notes.png', mimeType: 'image/png', buffer: Buffer.from('no picture') };
      await tab.locator('#file').setInputFiles(file);
      await tab.waitForFunction(() => document.querySelector('#note').textContent !== '');
      mustEqual(await tab.locator('#note').textContent(), 'This file is no picture that the browser can show.');
      mustEqual(errors, []);
      await tab.close();
      return found;
    },
  );

  // Only Chromium can be given a recording for a microphone.
  if (browserName !== 'chromium') return;
  await checkExample(
    'the captions of docs/examples: words are heard in order, also when the server is killed meanwhile',
    'captions',
    'listener_tensors',
    async (captions, url) => {
      const tab = await context.newPage();
      const errors = await unhandledIn(tab);
      await tab.goto(url);
      await tab.locator('#listen').click();
      const heard = (count) =>
        tab.waitForFunction((least) => {
          const words = [...document.querySelectorAll('.word')].map(({ firstChild }) => firstChild.textContent);
          return words.length >= least && words;
        }, count);
      await heard(2);
      await captions.killServer();
      await tab.waitForFunction(() => document.querySelector('#note').textContent.endsWith('no sound was.'));
      const before = await (await heard(2)).jsonValue();
      const words = await (await heard(before.length + 2)).jsonValue();
      // The recording says left and stop, and begins again.
      mustEqual(
        words,
        words.map((_, at) => (at % 2 === 0 ? 'left' : 'stop')),
      );
      await tab.locator('#listen').click();
      await tab.waitForSelector('#status[data-state=idle]');
      mustEqual(errors, []);
      await tab.close();
      return words.join(' ');
    },
  );
}
