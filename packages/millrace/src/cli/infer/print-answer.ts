/** Formats an answer for people: every output with its shape; of large outputs only the beginning. */
import { type JsonValue, stringifyJson, type Tensor, takeBytesElements } from '@millrace/protocol';
import type { Paint } from '../../terminal.ts';
import { tensorText } from '../start-screen.ts';
import { type DecodedAnswer, jsonDataOf } from './infer-messages.ts';

const rowsShownMax = 8;
const valuesShownMax = 12;

export function answerText(answer: DecodedAnswer, durationMs: number, paint: Paint): string {
  const title = `${paint('bold', answer.model)} ${answer.version}`.trimEnd();
  const lines = [`${title}  ${paint('dim', `${durationMs.toFixed(1)} ms`)}`];
  for (const output of answer.outputs) {
    lines.push(`  ${paint('cyan', tensorText(output))}`, ...rowsOf(output).map((row) => `    ${row}`));
  }
  return `${lines.join('\n')}\n`;
}

export function answerJson(answer: DecodedAnswer): string {
  const outputs = answer.outputs.map((output) => ({
    name: output.name,
    datatype: output.datatype,
    shape: [...output.shape],
    data: shownData(output),
  }));
  return `${stringifyJson({ model_name: answer.model, model_version: answer.version, outputs })}\n`;
}

/** What is not text is shown as requests write it. */
function shownData(tensor: Tensor): JsonValue[] {
  try {
    return jsonDataOf(tensor);
  } catch {
    const elements = takeBytesElements(tensor.data) ?? [];
    return elements.map((element) => ({ b64: Buffer.from(element).toString('base64') }));
  }
}

function rowsOf(tensor: Tensor): string[] {
  const values = shownData(tensor);
  const [only] = values;
  // A text of several lines, such as a story, is there to be read.
  if (values.length === 1 && typeof only === 'string' && only.includes('\n')) return readableLines(only);
  const width = tensor.shape.at(-1) ?? 1;
  if (values.length === 0) return ['(empty)'];
  const rows: string[] = [];
  const rowCount = values.length / width;
  for (let row = 0; row < Math.min(rowCount, rowsShownMax); row += 1) {
    const first = row * width;
    const shown = values.slice(first, first + Math.min(width, valuesShownMax)).map(valueText);
    const more = width > valuesShownMax ? `, … ${width - valuesShownMax} more` : '';
    rows.push(`${positionText(row, tensor.shape)}${shown.join(', ')}${more}`);
  }
  if (rowCount > rowsShownMax) rows.push(`… ${rowCount - rowsShownMax} more rows`);
  return rows;
}

/** Control characters other than line ends are escaped, as they are within a row: they could change the terminal. */
function readableLines(text: string): string[] {
  return text.split('\n').map((line) => stringifyJson(line).slice(1, -1).replaceAll('\\"', '"'));
}

/** Where a row stands in all dimensions but the last: `[2,0] `. */
function positionText(row: number, shape: readonly number[]): string {
  if (shape.length < 2) return '';
  const position: number[] = [];
  let rest = row;
  for (const size of shape.slice(0, -1).toReversed()) {
    position.unshift(rest % size);
    rest = Math.floor(rest / size);
  }
  return `[${position.join(',')}] `;
}

function valueText(value: JsonValue): string {
  if (typeof value === 'number' && !Number.isInteger(value)) return String(Number(value.toPrecision(6)));
  return stringifyJson(value);
}
