/** A picture that is chosen or dropped is sent as it is; what comes back is drawn onto it. */
import { createClient, MillraceError } from '@millrace/client';

const { url, model } = await (await fetch('server.json')).json();
const client = createClient(url);
const element = (id) => document.getElementById(id);
const [status, drop, file, result, canvas, found, note] = [
  'status',
  'drop',
  'file',
  'result',
  'picture',
  'found',
  'note',
].map(element);

function show(state, text) {
  status.dataset.state = state;
  status.textContent = text;
}

/** Boxes have their corners in pixels of the picture: left, top, right, bottom. */
function draw(picture, shapes) {
  // Small pictures are shown larger, so that the labels can be read.
  const scale = Math.max(1, Math.ceil(480 / picture.width));
  canvas.width = picture.width * scale;
  canvas.height = picture.height * scale;
  const context = canvas.getContext('2d');
  context.drawImage(picture, 0, 0, canvas.width, canvas.height);
  const line = Math.max(2, canvas.width / 240);
  context.lineWidth = line;
  context.font = `600 ${7 * line}px system-ui, sans-serif`;
  context.textBaseline = 'top';
  for (const { label, probability, box } of shapes) {
    const [left, top, right, bottom] = box.map((edge) => edge * scale);
    context.strokeStyle = '#ff3d7f';
    context.strokeRect(left, top, right - left, bottom - top);
    const text = `${label} ${Math.round(100 * probability)} %`;
    const above = Math.max(0, top - 9 * line);
    context.fillStyle = '#ff3d7f';
    context.fillRect(left - line / 2, above, context.measureText(text).width + 3 * line, 9 * line);
    context.fillStyle = '#fff';
    context.fillText(text, left + line, above + line);
  }
}

async function spot(blob) {
  show('busy', 'looking …');
  note.textContent = '';
  try {
    const picture = await createImageBitmap(blob);
    const { outputs } = await client.infer(model, { image: blob }, { deadlineMs: 30_000 });
    const { label, probability, box } = outputs;
    const shapes = label.texts.map((name, at) => {
      return { label: name, probability: probability.data[at], box: [...box.data.slice(4 * at, 4 * at + 4)] };
    });
    draw(picture, shapes);
    result.hidden = false;
    found.textContent =
      shapes.length === 0 ? 'No shape was found.' : `Found: ${shapes.map((shape) => shape.label).join(', ')}.`;
  } catch (error) {
    result.hidden = true;
    note.textContent =
      error instanceof MillraceError ? error.message : 'This file is no picture that the browser can show.';
  }
  show('idle', 'ready');
}

file.addEventListener('change', () => file.files.length > 0 && void spot(file.files[0]));
for (const kind of ['dragover', 'dragleave', 'drop']) {
  drop.addEventListener(kind, (event) => {
    event.preventDefault();
    drop.classList.toggle('over', kind === 'dragover');
    if (kind === 'drop' && event.dataTransfer.files.length > 0) void spot(event.dataTransfer.files[0]);
  });
}
element('sample').addEventListener('click', async () => spot(await (await fetch('samples/shapes.jpg')).blob()));
show('idle', 'ready');
