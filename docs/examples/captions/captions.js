/** Sound of a microphone into a durable stream, words out of it as they are said. */
import { createClient } from '@millrace/client';
import { microphoneChunks } from '@millrace/client/audio';
import { WordSpotter } from './word-spotter.js';

const { url, model } = await (await fetch('server.json')).json();
const client = createClient(url);
/** What the model takes: 20 ms at 16 kHz. */
const sampleRate = 16_000;
const chunkSamples = 320;
/** The labels of the output `commands`; the first one stands for silence and all other words. */
const words = ['', 'yes', 'no', 'up', 'down', 'left', 'right', 'on', 'off', 'stop', 'go', 'play', 'pause'];

const element = (id) => document.getElementById(id);
const [status, captions, speech, listen, note] = ['status', 'captions', 'speech', 'listen', 'note'].map(element);
for (const word of words.slice(1))
  element('words').append(Object.assign(document.createElement('li'), { textContent: word }));

function show(state, text) {
  status.dataset.state = state;
  status.textContent = text;
}

function addCaption(word, seconds) {
  captions.querySelector('.quiet')?.remove();
  const caption = Object.assign(document.createElement('span'), { className: 'word', textContent: word });
  caption.append(' ', Object.assign(document.createElement('small'), { textContent: `${seconds.toFixed(1)} s` }));
  captions.append(caption);
  const chip = [...element('words').children].find(({ textContent }) => textContent === word);
  chip.classList.add('heard');
  setTimeout(() => chip.classList.remove('heard'), 1500);
}

/** From the first chunk of the microphone to the last. */
async function caption(microphone) {
  const stream = client.stream(model, {
    onGap: () => {
      show('paused', 'connection lost, resuming …');
      note.textContent = 'The connection was lost. What you say meanwhile is kept, and sent when it is back.';
    },
    onResumed: (gapMs) => {
      show('busy', 'listening');
      note.textContent = `The connection was lost for ${(gapMs / 1000).toFixed(1)} s; no sound was.`;
    },
  });
  const sending = (async () => {
    for await (const audio of microphone) await stream.send({ audio: { shape: [1, chunkSamples], data: audio } });
    await stream.end();
  })();
  const spotter = new WordSpotter();
  for await (const { sequence, tensors } of stream) {
    if (tensors.commands === undefined) continue;
    speech.value = tensors.speech.data[0];
    const label = spotter.push(tensors.commands.data);
    if (label !== undefined) addCaption(words[label], (sequence * chunkSamples) / sampleRate);
  }
  await sending;
}

let microphone;
listen.addEventListener('click', async () => {
  if (microphone !== undefined) {
    microphone.stop();
    return;
  }
  note.textContent = '';
  try {
    microphone = await microphoneChunks({
      sampleRate,
      chunkSamples,
      onDropped: (chunks) => {
        note.textContent = `${chunks * 20} ms of sound were dropped: the server has been away for too long.`;
      },
    });
    listen.textContent = 'Stop';
    element('advice').textContent = 'Say some of these words, with a pause between them:';
    show('busy', 'listening');
    await caption(microphone);
  } catch (error) {
    note.textContent = error.name === 'NotAllowedError' ? 'The microphone was not allowed.' : error.message;
  }
  microphone?.stop();
  microphone = undefined;
  speech.value = 0;
  listen.textContent = 'Listen';
  show('idle', 'ready');
});
show('idle', 'ready');
