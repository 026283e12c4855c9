import { expect, test } from 'vitest';
import { OutputText } from './output-text.ts';
import { byteFallbackJson, storytellerJson } from './testing/small-tokenizers.ts';
import { TextTokenizer } from './tokenizer.ts';

const storyteller = new TextTokenizer(storytellerJson());

function told(output: OutputText, ids: readonly number[]): { text: string; stoppedBy: string | undefined } {
  let text = '';
  for (const id of ids) {
    const part = output.push(id);
    text += part.text;
    if (part.stoppedBy !== undefined) return { text, stoppedBy: part.stoppedBy };
  }
  const end = output.end();
  return { text: text + end.text, stoppedBy: end.stoppedBy };
}

const ids = storyteller.encode('Once upon a time there was a fox. The fox slept.', false);

test('the text of the tokens ends before the first stop string', () => {
  expect(told(new OutputText(storyteller, [], ['fox'], 0), ids)).toEqual({
    text: 'Once upon a time there was a ',
    stoppedBy: 'fox',
  });
});

test('stop strings do not count in the text of the first tokens', () => {
  const first = storyteller.encode('Once upon a time there was a fox.', false).length;
  expect(told(new OutputText(storyteller, [], ['fox'], first), ids).text).toBe(
    'Once upon a time there was a fox. The ',
  );
});

test('at the end both kinds of held text are released, in their order', () => {
  const tokenizer = new TextTokenizer(byteFallbackJson);
  const held = ['a', 'b', '<0xE6>'].map((token) => tokenizer.takeId(token) as number);
  expect(told(new OutputText(tokenizer, [], ['abc'], 0), held)).toEqual({ text: 'ab\ufffd', stoppedBy: undefined });
  expect(told(new OutputText(tokenizer, [], ['b\ufffd'], 0), held)).toEqual({ text: 'a', stoppedBy: 'b\ufffd' });
});
