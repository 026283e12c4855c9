/** A chat with a generator. A story goes on where it was when the connection, the server or this page was lost in its middle. */
import { createClient } from '@millrace/client';

const { url, model } = await (await fetch('server.json')).json();
const client = createClient(url);
/** `?seed=7` has the same story told again. */
const seed = new URLSearchParams(location.search).get('seed') ?? undefined;

const element = (id) => document.getElementById(id);
const [messages, status, prompt, send, stop] = ['messages', 'status', 'prompt', 'send', 'stop'].map(element);

/** The conversation. A story that is not over has the position to go on after; text and position are stored together. */
const turns = JSON.parse(sessionStorage.getItem('turns') ?? '[]');
const save = () => sessionStorage.setItem('turns', JSON.stringify(turns));

function show(state, text) {
  status.dataset.state = state;
  status.textContent = text;
}

function add(kind, text) {
  element('welcome').hidden = true;
  const paragraph = document.createElement('p');
  paragraph.className = kind;
  paragraph.textContent = text;
  messages.append(paragraph);
  messages.scrollTop = messages.scrollHeight;
  return paragraph;
}

/** Tells a story from its beginning, or from where it was. */
async function tell(turn, paragraph) {
  let note;
  const story = client.generate(model, turn.prompt, {
    maxTokens: 400,
    temperature: 0.7,
    seed: seed && Number(seed),
    resume: turn.position,
    onGap: () => {
      show('paused', 'connection lost, resuming …');
      note ??= add('note', '');
      note.textContent = 'The connection was lost. Nothing of the story is.';
    },
    onResumed: (gapMs) => {
      show('busy', 'telling');
      note.textContent = `The connection was lost for ${(gapMs / 1000).toFixed(1)} s; the story went on where it was.`;
    },
  });
  const cancel = () => story.cancel();
  stop.addEventListener('click', cancel);
  stop.hidden = false;
  send.hidden = true;
  paragraph.classList.add('open');
  show('busy', 'telling');
  try {
    for await (const { text, sequence } of story) {
      turn.story += text;
      turn.position = { ...story.position, output: sequence };
      save();
      paragraph.textContent = turn.story.trimStart();
      messages.scrollTop = messages.scrollHeight;
    }
  } catch (error) {
    if (error.code === 'stream-superseded') add('note', 'This story goes on in another tab.');
    else if (error.code !== 'cancelled') add('note', error.message);
  }
  delete turn.position;
  turn.isOver = true;
  save();
  paragraph.classList.remove('open');
  stop.removeEventListener('click', cancel);
  stop.hidden = true;
  send.hidden = false;
  show('idle', 'ready');
}

function ask(text) {
  const turn = { prompt: text, story: '', isOver: false };
  turns.push(turn);
  save();
  add('asked', text);
  return tell(turn, add('told', ''));
}

element('ask').addEventListener('submit', (event) => {
  event.preventDefault();
  if (!stop.hidden) return;
  void ask(prompt.value);
  prompt.value = '';
});
for (const button of document.querySelectorAll('#suggestions button')) {
  button.addEventListener('click', () => void ask(button.textContent));
}

show('idle', 'ready');
// After a reload: what was there, and what was not over goes on.
for (const turn of turns) {
  add('asked', turn.prompt);
  const paragraph = add('told', turn.story.trimStart());
  if (!turn.isOver) void tell(turn, paragraph);
}
