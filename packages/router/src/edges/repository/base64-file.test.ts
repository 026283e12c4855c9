import { expect, test } from 'vitest';
import { fileFromBase64 } from './base64-file.ts';

test.each([0, 1, 2, 3, 4, 255, 1000])('%d bytes come back exactly', (length) => {
  const bytes = Uint8Array.from({ length }, (_, index) => (index * 31) % 256);
  expect([...fileFromBase64('f', Buffer.from(bytes).toString('base64'))]).toEqual([...bytes]);
});

test.each(['a', 'ab', 'abc', 'ab c', 'ab!=', '====', 'YWJj\nYWJj', 'YW=j'])(
  '%j is refused by the name of the file',
  (text) => {
    expect(() => fileFromBase64('1/model.onnx', text)).toThrow("the content of '1/model.onnx' is not base64");
  },
);
