import { expect, test } from 'vitest';
import { OutputPrinter } from './output-text.ts';

const at = (sequence: number) => ({ sequence, inputSequence: 1 });
const text = (value: string) => [{ name: 'text_output', datatype: 'BYTES', shape: [1], data: [value] }];

test('the text of a generator is printed as it is, and its line is ended with the answer', () => {
  const printer = new OutputPrinter();
  const printed = [
    { ...at(1), tensors: text('Once') },
    { ...at(2), tensors: text('') },
    { ...at(3), token: { id: 7, text: ' upon' } },
    { ...at(4), endOfOutput: true },
    { ...at(5), text: 'more', endOfOutput: true },
    { ...at(6), text: 'last' },
  ].map((output) => printer.print(output));
  expect(printed).toEqual(['Once', '', ' upon', '\n', 'more\n', 'last']);
  expect([printer.end(), printer.end()]).toEqual(['\n', '']);
});

test('anything else is a line of JSON with the outputs by name', () => {
  const printer = new OutputPrinter();
  const tensors = [
    { name: 'mean', datatype: 'FP32', shape: [1], data: [0.5] },
    { name: 'odd', datatype: 'FP32', shape: [1], raw: 'AADAfw==' },
  ];
  expect(printer.print({ ...at(1), tensors, endOfOutput: true })).toBe(
    '{"sequence":1,"inputSequence":1,"outputs":{"mean":[0.5],"odd":{"b64":"AADAfw=="}}}\n',
  );
  expect(printer.print({ ...at(2), bytes: 'AQ==' })).toBe('{"sequence":2,"inputSequence":1,"bytes":"AQ=="}\n');
  expect(printer.print({ ...at(3), endOfOutput: true })).toBe('');
});
