import { expect, test } from 'vitest';
import { isFinalFailure } from './final-failure.ts';

test.each([
  'Load model from /m/1/model.onnx failed:Protobuf parsing failed.',
  'Load model from /m/1/model.onnx failed:Fatal error: com.acme:Nothing(-1) is not a registered function/op',
  'Load model from /m/1/model.onnx failed:This is an invalid model. In Node, ("", NoSuchOperator, "", -1) : No Op registered for NoSuchOperator with domain_version of 13',
  'Load model from /m/1/model.onnx failed:Unsupported model IR version: 99, max supported IR version: 11',
  "Could not find an implementation for Conv(11) node with name 'c'",
  'Unsupported data type - 16',
  'Load model from m.onnx failed:Type Error: Type parameter (T) of Optype (Add) bound to different types',
])('no load of the same files can succeed after: %s', (message) => {
  expect(isFinalFailure(message)).toBe(true);
});

test.each([
  'std::bad_alloc',
  'Failed to allocate memory for requested buffer of size 1073741824',
  "Load model from /m/1/model.onnx failed:Load model /m/1/model.onnx failed. File doesn't exist",
  "EMFILE: too many open files, open '/m/1/model.onnx'",
  'Load model from /m/1/model.onnx failed:system error number 24',
  'CUDA failure 2: out of memory',
  'something that nobody has seen before',
])('the cause may pass: %s', (message) => {
  expect(isFinalFailure(message)).toBe(false);
});
