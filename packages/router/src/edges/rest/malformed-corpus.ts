/** Requests that must be refused before the data plane hears of them: a name, the request, the status, part of the message. */
import { deflateSync, gzipSync } from 'node:zlib';
import type { InjectedRequest } from '@millrace/http';

export type MalformedCase = readonly [name: string, request: InjectedRequest, status: number, message: string];

/** The limits the corpus is written for. */
export const corpusLimits = {
  jsonBytesMax: 20_000,
  bodyBytesMax: 30_000,
  inputsMax: 4,
  outputsMax: 4,
  dimensionsMax: 8,
};

const target = '/v2/models/m/infer';
type Fields = readonly (readonly [string, string])[];

function post(body: string | Uint8Array, headers: Fields = []): InjectedRequest {
  return { method: 'POST', target, headers, body };
}

/** JSON in front, bytes behind, and an honest header length unless another is given. */
function binary(json: string, tail: Uint8Array, headerLength = String(Buffer.byteLength(json))): InjectedRequest {
  return post(Buffer.concat([Buffer.from(json), tail]), [['inference-header-content-length', headerLength]]);
}

const good = '{"name":"x","datatype":"FP32","shape":[2],"data":[1,2]}';
const withInput = (input: string): InjectedRequest => post(`{"inputs":[${input}]}`);
const withData = (datatype: string, shape: string, data: string): InjectedRequest =>
  withInput(`{"name":"x","datatype":"${datatype}","shape":${shape},"data":${data}}`);
const withOutputs = (outputs: string): InjectedRequest => post(`{"inputs":[${good}],"outputs":${outputs}}`);
const withOutput = (parameters: string): InjectedRequest => withOutputs(`[{"name":"x","parameters":${parameters}}]`);
const withParameters = (parameters: string): InjectedRequest => post(`{"inputs":[${good}],"parameters":${parameters}}`);
const binaryInput = (size: string, shape = '[2]', datatype = 'FP32'): string =>
  `{"inputs":[{"name":"x","datatype":"${datatype}","shape":${shape},"parameters":{"binary_data_size":${size}}}]}`;
const zeros = (count: number): Uint8Array => new Uint8Array(count);
const bytesElement = (length: number, present: number): Uint8Array => {
  const element = Buffer.alloc(4 + present);
  element.writeUInt32LE(length);
  return element;
};

const text: readonly MalformedCase[] = [
  ['an empty body', post(''), 400, 'JSON at'],
  ['white space alone', post(' \n\t '), 400, 'found the end of the text'],
  ['a word', post('hello'), 400, 'expected an object'],
  ['null', post('null'), 400, 'expected an object'],
  ['a number', post('1'), 400, 'expected an object'],
  ['a string', post('"inputs"'), 400, 'expected an object'],
  ['an array', post('[]'), 400, 'expected an object'],
  ['an object cut short', post('{'), 400, 'JSON at'],
  ['an object without a closing brace', post(`{"inputs":[${good}]`), 400, 'found the end of the text'],
  ['an array without a closing bracket', post(`{"inputs":[${good}`), 400, 'JSON at'],
  ['something behind the end', post(`{"inputs":[${good}]} x`), 400, 'expected the end of the text'],
  ['two texts', post(`{"inputs":[${good}]}{}`), 400, 'expected the end of the text'],
  ['a comma too many in an object', post(`{"inputs":[${good}],}`), 400, 'expected a key'],
  ['a comma too many in an array', post(`{"inputs":[${good},]}`), 400, 'expected a value'],
  ['a missing comma', post(`{"id":"a" "inputs":[${good}]}`), 400, "expected ','"],
  ['a missing colon', post(`{"inputs" [${good}]}`), 400, "expected ':'"],
  ['a key without quotes', post(`{inputs:[${good}]}`), 400, 'expected a key'],
  ['single quotes', post(`{'inputs':[]}`), 400, 'expected a key'],
  ['a comment', post(`{/* */"inputs":[]}`), 400, 'expected a key'],
  ['a byte order mark', post('\uFEFF{"inputs":[]}'), 400, 'byte order mark'],
  ['a NUL byte', post('\u0000{"inputs":[]}'), 400, '0x00'],
  ['invalid UTF-8 in a string', post(Buffer.from(`{"id":"\xff","inputs":[${good}]}`, 'latin1')), 400, 'UTF-8'],
  ['a control character in a string', post(`{"id":"a\nb","inputs":[${good}]}`), 400, 'JSON at'],
  ['an unknown escape', post(`{"id":"\\x41","inputs":[${good}]}`), 400, 'JSON at'],
  ['half an escape', post('{"id":"\\u12'), 400, 'JSON at'],
  ['a lone surrogate', post(`{"id":"\\ud800","inputs":[${good}]}`), 400, 'surrogate'],
  ['a string without an end', post('{"id":"abc'), 400, 'JSON at'],
  ['a key twice', post(`{"inputs":[${good}],"inputs":[${good}]}`), 400, 'twice'],
  [
    'a key twice inside an input',
    withInput('{"name":"x","name":"x","datatype":"INT8","shape":[1],"data":[1]}'),
    400,
    'twice',
  ],
  ['101 arrays deep', post(`{"a":${'['.repeat(101)}${']'.repeat(101)},"inputs":[]}`), 400, 'more than 100 deep'],
  ['100000 arrays deep', post(`{"a":${'['.repeat(15_000)}`), 400, 'more than 100 deep'],
  ['a bad word', post(`{"a":nul,"inputs":[${good}]}`), 400, 'expected null'],
  ['a number with a leading zero', post(`{"a":012,"inputs":[${good}]}`), 400, 'JSON at'],
  ['a number with nothing behind its point', post(`{"a":1.,"inputs":[${good}]}`), 400, 'JSON at'],
  ['a number with a plus', post(`{"a":+1,"inputs":[${good}]}`), 400, 'JSON at'],
  ['a hexadecimal number', post(`{"a":0x10,"inputs":[${good}]}`), 400, 'JSON at'],
  ['an exponent without digits', post(`{"a":1e,"inputs":[${good}]}`), 400, 'JSON at'],
  ['a minus alone', post(`{"a":-,"inputs":[${good}]}`), 400, 'JSON at'],
];

const structure: readonly MalformedCase[] = [
  ['no inputs', post('{}'), 400, "no 'inputs'"],
  ['inputs null', post('{"inputs":null}'), 400, 'expected an array'],
  ['inputs an object', post('{"inputs":{}}'), 400, 'expected an array'],
  ['inputs a string', post('{"inputs":"x"}'), 400, 'expected an array'],
  ['an input that is a number', post('{"inputs":[1]}'), 400, 'expected an object'],
  ['an input that is null', post('{"inputs":[null]}'), 400, 'expected an object'],
  ['an input that is an array', post('{"inputs":[[]]}'), 400, 'expected an object'],
  ['an empty input', post('{"inputs":[{}]}'), 400, "input #0 has no 'name'"],
  ['a second input without a name', post(`{"inputs":[${good},{}]}`), 400, "input #1 has no 'name'"],
  ['an empty name', withInput('{"name":"","datatype":"INT8","shape":[1],"data":[1]}'), 400, "input #0 has no 'name'"],
  ['a name that is a number', withInput('{"name":1}'), 400, 'expected a string'],
  ['a name that is null', withInput('{"name":null}'), 400, 'expected a string'],
  ['no datatype', withInput('{"name":"x","shape":[1],"data":[1]}'), 400, "input 'x' has no 'datatype'"],
  ['no shape', withInput('{"name":"x","datatype":"INT8","data":[1]}'), 400, "input 'x' has no 'shape'"],
  ['an unknown datatype', withData('FLOAT', '[1]', '[1]'), 400, "invalid datatype 'FLOAT'"],
  ['a datatype in lower case', withData('fp32', '[1]', '[1]'), 400, "invalid datatype 'fp32'"],
  ['a datatype of the config', withData('TYPE_FP32', '[1]', '[1]'), 400, 'invalid datatype'],
  ['a datatype named like a property', withData('toString', '[1]', '[1]'), 400, 'invalid datatype'],
  ['an empty datatype', withData('', '[1]', '[1]'), 400, 'invalid datatype'],
  ['a datatype that is a number', withInput('{"name":"x","datatype":5}'), 400, 'expected a string'],
  ['a shape that is a number', withData('FP32', '2', '[1,2]'), 400, 'expected an array'],
  ['a shape that is a string', withData('FP32', '"2"', '[1,2]'), 400, 'expected an array'],
  ['a shape that is null', withData('FP32', 'null', '[1,2]'), 400, 'expected an array'],
  ['a negative dimension', withData('FP32', '[-1]', '[1]'), 400, 'negative'],
  ['a fractional dimension', withData('FP32', '[1.5]', '[1]'), 400, 'not an integer'],
  ['a NaN dimension', withData('FP32', '[NaN]', '[1]'), 400, 'not an integer'],
  ['an infinite dimension', withData('FP32', '[Infinity]', '[1]'), 400, 'not an integer'],
  ['a dimension beyond doubles', withData('FP32', '[18446744073709551616]', '[1]'), 400, 'too large'],
  ['a dimension that is a string', withData('FP32', '["1"]', '[1]'), 400, 'expected a number'],
  ['a dimension that is an array', withData('FP32', '[[1]]', '[1]'), 400, 'expected a number'],
  ['a shape that cannot be counted', withData('FP32', '[4294967296,4294967296]', '[1]'), 400, 'too many elements'],
  [
    'a shape that would take all memory',
    withData('FP64', '[9007199254740991]', '[1]'),
    400,
    'more elements than the text',
  ],
  ['more dimensions than allowed', withData('FP32', '[1,1,1,1,1,1,1,1,1]', '[1]'), 400, 'more than 8 dimensions'],
  [
    'more inputs than allowed',
    post(`{"inputs":[${[1, 2, 3, 4, 5].map((n) => good.replace('"x"', `"x${n}"`))}]}`),
    413,
    'more than 4 inputs',
  ],
  ['an input twice', post(`{"inputs":[${good},${good}]}`), 400, "input 'x' already exists in request"],
  ['an id that is a number', post(`{"id":1,"inputs":[${good}]}`), 400, 'expected a string'],
  ['an id that is null', post(`{"id":null,"inputs":[${good}]}`), 400, 'expected a string'],
  ['neither data nor a size', withInput('{"name":"x","datatype":"FP32","shape":[2]}'), 400, 'must set only one'],
  [
    'both data and a size',
    withInput('{"name":"x","datatype":"FP32","shape":[2],"data":[1,2],"parameters":{"binary_data_size":8}}'),
    400,
    'must set only one',
  ],
  [
    'both, the data first',
    withInput('{"data":[1,2],"parameters":{"binary_data_size":8},"name":"x","datatype":"FP32","shape":[2]}'),
    400,
    'must set only one',
  ],
  ['JSON over its limit', post(`{"inputs":[${good}],"a":"${'a'.repeat(20_000)}"}`), 413, 'more than the 20000 allowed'],
  ['a body over its limit', post(zeros(30_001)), 413, 'larger than 30000 bytes'],
];

const data: readonly MalformedCase[] = [
  ['too few elements', withData('FP32', '[3]', '[1,2]'), 400, "input 'x' has 2 elements"],
  ['too many elements', withData('FP32', '[1]', '[1,2]'), 400, 'more than 1 elements'],
  ['elements for a shape of none', withData('FP32', '[0]', '[1]'), 400, 'more than 0 elements'],
  ['no elements for a scalar', withData('FP32', '[]', '[]'), 400, '0 elements'],
  ['a ragged nesting', withData('FP32', '[2,2]', '[[1,2],[3]]'), 400, 'dimension 1'],
  ['a nesting too deep', withData('FP32', '[2]', '[[1,2]]'), 400, 'nesting'],
  ['a nesting not as the shape', withData('FP32', '[2,3]', '[[1,2],[3,4],[5,6]]'), 400, 'dimension 1'],
  ['a nesting half flat', withData('FP32', '[2,2]', '[[1,2],3,4]'), 400, 'nesting'],
  ['a nesting in the middle of flat data', withData('FP32', '[4]', '[1,[2],3,4]'), 400, 'nesting'],
  ['data that is a number', withData('FP32', '[1]', '1'), 400, 'must be an array'],
  ['data that is a string', withData('FP32', '[1]', '"1"'), 400, 'must be an array'],
  ['data that is null', withData('FP32', '[1]', 'null'), 400, 'must be an array'],
  ['data that is an object', withData('FP32', '[1]', '{"0":1}'), 400, 'must be an array'],
  ['data cut short', post('{"inputs":[{"name":"x","datatype":"FP32","shape":[2],"data":[1,'), 400, 'found the end'],
  ['data in front and broken', withInput('{"data":[1,x],"name":"x","datatype":"FP32","shape":[2]}'), 400, 'JSON at'],
  [
    'data in front with a bad bracket',
    withInput('{"data":[1,2},"name":"x","datatype":"FP32","shape":[2]}'),
    400,
    'JSON at',
  ],
  ['a string among floats', withData('FP32', '[1]', '["1"]'), 400, 'a string'],
  ['null among floats', withData('FP32', '[1]', '[null]'), 400, 'null'],
  ['true among floats', withData('FP32', '[1]', '[true]'), 400, 'a boolean'],
  ['an object among floats', withData('FP32', '[1]', '[{}]'), 400, 'an object'],
  ['a fraction among integers', withData('INT32', '[1]', '[1.5]'), 400, '1.5'],
  ['NaN among integers', withData('INT32', '[1]', '[NaN]'), 400, 'NaN'],
  ['a string among integers', withData('INT64', '[1]', '["1"]'), 400, 'a string'],
  ['a boolean among integers', withData('UINT8', '[1]', '[true]'), 400, 'a boolean'],
  ['an INT8 too large', withData('INT8', '[1]', '[128]'), 400, '128'],
  ['an INT8 too small', withData('INT8', '[1]', '[-129]'), 400, '-129'],
  ['a UINT8 below zero', withData('UINT8', '[1]', '[-1]'), 400, '-1'],
  ['a UINT16 too large', withData('UINT16', '[1]', '[65536]'), 400, '65536'],
  ['an INT16 too large', withData('INT16', '[1]', '[32768]'), 400, '32768'],
  ['a UINT32 too large', withData('UINT32', '[1]', '[4294967296]'), 400, '4294967296'],
  ['an INT32 too small', withData('INT32', '[1]', '[-2147483649]'), 400, '-2147483649'],
  ['an INT64 too large', withData('INT64', '[1]', '[9223372036854775808]'), 400, '9223372036854775808'],
  ['a UINT64 too large', withData('UINT64', '[1]', '[18446744073709551616]'), 400, '18446744073709551616'],
  ['a UINT64 below zero', withData('UINT64', '[1]', '[-1]'), 400, '-1'],
  ['a number among booleans', withData('BOOL', '[1]', '[1]'), 400, 'a number'],
  ['a string among booleans', withData('BOOL', '[1]', '["true"]'), 400, 'a string'],
  ['a number among BYTES', withData('BYTES', '[1]', '[1]'), 400, 'a number'],
  ['null among BYTES', withData('BYTES', '[1]', '[null]'), 400, 'null'],
  [
    'FP16 as JSON',
    withData('FP16', '[1]', '[1]'),
    400,
    'receiving FP16 data via JSON is not supported. Please use the binary data format for input x',
  ],
  [
    'BF16 as JSON',
    withData('BF16', '[1]', '[1]'),
    400,
    'receiving BF16 data via JSON is not supported. Please use the binary data format for input x',
  ],
];

const tail: readonly MalformedCase[] = [
  ['a header length that is a word', binary(binaryInput('8'), zeros(8), 'abc'), 400, 'Inference-Header-Content-Length'],
  ['a negative header length', binary(binaryInput('8'), zeros(8), '-1'), 400, 'Inference-Header-Content-Length'],
  ['a fractional header length', binary(binaryInput('8'), zeros(8), '1.5'), 400, 'Inference-Header-Content-Length'],
  ['an empty header length', binary(binaryInput('8'), zeros(8), ''), 400, 'Inference-Header-Content-Length'],
  ['a hexadecimal header length', binary(binaryInput('8'), zeros(8), '0x10'), 400, 'Inference-Header-Content-Length'],
  ['a header length beyond 32 bits', binary(binaryInput('8'), zeros(8), '2147483648'), 400, '0 to 2147483647'],
  [
    'a header length beyond everything',
    binary(binaryInput('8'), zeros(8), '9'.repeat(30)),
    400,
    'Inference-Header-Content-Length',
  ],
  [
    'two header lengths',
    post(binaryInput('0', '[0]'), [
      ['inference-header-content-length', '10'],
      ['inference-header-content-length', '11'],
    ]),
    400,
    'one number',
  ],
  ['a header length over the body', binary(binaryInput('8'), zeros(8), '1000'), 400, 'the body has only'],
  [
    'a header length one too short',
    binary(binaryInput('8'), zeros(8), String(binaryInput('8').length - 1)),
    400,
    'JSON at',
  ],
  [
    'a header length one too long',
    binary(binaryInput('8'), zeros(8), String(binaryInput('8').length + 1)),
    400,
    'JSON at',
  ],
  [
    'fewer bytes than declared',
    binary(binaryInput('8'), zeros(7)),
    400,
    "unexpected size for input 'x', expecting 1 additional bytes for model 'm'",
  ],
  ['no bytes at all', binary(binaryInput('8'), zeros(0)), 400, 'expecting 8 additional bytes'],
  [
    'more bytes than declared',
    binary(binaryInput('8'), zeros(9)),
    400,
    "unexpected additional input data for model 'm'",
  ],
  ['bytes behind JSON data', binary(`{"inputs":[${good}]}`, zeros(1)), 400, 'unexpected additional input data'],
  ['bytes behind no inputs', binary('{"inputs":[]}', zeros(1)), 400, 'unexpected additional input data'],
  ['a size but no header length', post(binaryInput('8')), 400, 'needs the Inference-Header-Content-Length header'],
  ['a size not as the shape', binary(binaryInput('4'), zeros(4)), 400, "input byte size mismatch for input 'x'"],
  ['a size for a shape of none', binary(binaryInput('4', '[0]'), zeros(4)), 400, 'input byte size mismatch'],
  ['no bytes for a scalar', binary(binaryInput('0', '[]'), zeros(0)), 400, 'input byte size mismatch'],
  [
    'a shape that cannot be counted in bytes',
    binary(binaryInput('8', '[9007199254740991]', 'FP64'), zeros(8)),
    400,
    'input byte size mismatch',
  ],
  [
    'a negative size',
    binary(binaryInput('-8'), zeros(8)),
    400,
    "parameter 'binary_data_size' must be an integer of 0 or more",
  ],
  ['a fractional size', binary(binaryInput('8.5'), zeros(8)), 400, 'binary_data_size'],
  ['a size that is a string', binary(binaryInput('"8"'), zeros(8)), 400, 'binary_data_size'],
  ['a size that is true', binary(binaryInput('true'), zeros(8)), 400, 'binary_data_size'],
  ['a size that is null', binary(binaryInput('null'), zeros(8)), 400, 'binary_data_size'],
  ['a size beyond doubles', binary(binaryInput('18446744073709551615'), zeros(8)), 400, 'binary_data_size'],
  ['a size beyond 64 bits', binary(binaryInput('1'.repeat(30)), zeros(8)), 400, 'beyond 64-bit'],
  ['a size of NaN', binary(binaryInput('NaN'), zeros(8)), 400, 'binary_data_size'],
  [
    'BYTES shorter than they say',
    binary(binaryInput('6', '[1]', 'BYTES'), bytesElement(3, 2)),
    400,
    'says it has 3 bytes',
  ],
  [
    'BYTES longer than 4 GB',
    binary(binaryInput('6', '[1]', 'BYTES'), bytesElement(0xffff_ffff, 2)),
    400,
    'says it has 4294967295 bytes',
  ],
  ['BYTES with half a length', binary(binaryInput('2', '[1]', 'BYTES'), zeros(2)), 400, 'truncated'],
  [
    'fewer BYTES elements than the shape',
    binary(binaryInput('6', '[2]', 'BYTES'), bytesElement(2, 2)),
    400,
    '1 BYTES elements, but the shape has 2',
  ],
  ['more BYTES elements than the shape', binary(binaryInput('8', '[1]', 'BYTES'), zeros(8)), 400, '4 bytes follow'],
  [
    'BYTES elements by the billion',
    binary(binaryInput('4', '[9007199254740991]', 'BYTES'), zeros(4)),
    400,
    '1 BYTES elements',
  ],
];

const parameters: readonly MalformedCase[] = [
  ['parameters that are an array', withParameters('[]'), 400, 'expected an object'],
  ['parameters that are null', withParameters('null'), 400, 'expected an object'],
  [
    'a parameter that is null',
    withParameters('{"a":null}'),
    400,
    "parameter 'a' must be a string, a number or a boolean, not null",
  ],
  ['a parameter that is an object', withParameters('{"a":{}}'), 400, "parameter 'a'"],
  ['a parameter that is an array', withParameters('{"a":[1]}'), 400, "parameter 'a'"],
  ['a parameter beyond 64 bits', withParameters('{"a":18446744073709551616}'), 400, 'beyond 64-bit integers'],
  ['a parameter too large for a double', withParameters('{"a":1e999}'), 400, 'too large'],
  [
    'a parameter of Triton',
    withParameters('{"triton_final_response":true}'),
    400,
    "starting with 'triton_' are reserved",
  ],
  [
    'binary_data_output a number',
    withParameters('{"binary_data_output":1}'),
    400,
    "parameter 'binary_data_output' must be true or false",
  ],
  ['binary_data_output a string', withParameters('{"binary_data_output":"true"}'), 400, 'must be true or false'],
  ['a negative timeout', withParameters('{"timeout":-1}'), 400, "parameter 'timeout' must be an integer"],
  ['a fractional timeout', withParameters('{"timeout":0.5}'), 400, "parameter 'timeout'"],
  ['a timeout that is a string', withParameters('{"timeout":"5"}'), 400, "parameter 'timeout'"],
  [
    'a timeout field that is a word',
    post(`{"inputs":[${good}]}`, [['millrace-timeout-ms', 'soon']]),
    400,
    'millrace-timeout-ms',
  ],
  [
    'a negative timeout field',
    post(`{"inputs":[${good}]}`, [['millrace-timeout-ms', '-5']]),
    400,
    'millrace-timeout-ms',
  ],
  [
    'an endless timeout field',
    post(`{"inputs":[${good}]}`, [['millrace-timeout-ms', '9'.repeat(40)]]),
    400,
    'millrace-timeout-ms',
  ],
  ['input parameters that are a string', withInput('{"name":"x","parameters":"a"}'), 400, 'expected an object'],
  [
    'an input in shared memory',
    withInput(
      '{"name":"x","datatype":"FP32","shape":[2],"parameters":{"shared_memory_region":"r","shared_memory_byte_size":8}}',
    ),
    501,
    'Client shared memory is disabled',
  ],
  ['outputs that are an object', withOutputs('{}'), 400, 'expected an array'],
  ['outputs that are null', withOutputs('null'), 400, 'expected an array'],
  ['an output that is a string', withOutputs('["x"]'), 400, 'expected an object'],
  ['an output without a name', withOutputs('[{}]'), 400, "output #0 has no 'name'"],
  ['an output with an empty name', withOutputs('[{"name":""}]'), 400, "output #0 has no 'name'"],
  ['an output twice', withOutputs('[{"name":"x"},{"name":"x"}]'), 400, "output 'x' already exists in request"],
  [
    'more outputs than allowed',
    withOutputs(`[${[1, 2, 3, 4, 5].map((n) => `{"name":"x${n}"}`)}]`),
    413,
    'more than 4 outputs',
  ],
  [
    'binary_data that is a number',
    withOutput('{"binary_data":1}'),
    400,
    "output 'x': parameter 'binary_data' must be true or false",
  ],
  ['binary_data that is null', withOutput('{"binary_data":null}'), 400, "parameter 'binary_data'"],
  [
    'a classification of none',
    withOutput('{"classification":0}'),
    400,
    "parameter 'classification' must be an integer of 1 or more",
  ],
  ['a negative classification', withOutput('{"classification":-3}'), 400, "parameter 'classification'"],
  ['a classification that is a string', withOutput('{"classification":"3"}'), 400, "parameter 'classification'"],
  ['a fractional classification', withOutput('{"classification":1.5}'), 400, "parameter 'classification'"],
  ['an output in shared memory', withOutput('{"shared_memory_region":"r"}'), 501, 'Client shared memory is disabled'],
];

const coded = (body: Uint8Array, encoding: string): InjectedRequest => post(body, [['content-encoding', encoding]]);
const goodBody = Buffer.from(`{"inputs":[${good}]}`);

const frame: readonly MalformedCase[] = [
  ['brotli', coded(goodBody, 'br'), 415, "unsupported Content-Encoding 'br'"],
  ['two codings', coded(gzipSync(deflateSync(goodBody)), 'deflate, gzip'), 415, 'gzip, deflate or identity'],
  ['gzip that is not', coded(goodBody, 'gzip'), 400, 'not valid gzip data'],
  ['deflate that is not', coded(goodBody, 'deflate'), 400, 'not valid deflate data'],
  ['gzip cut short', coded(gzipSync(goodBody).subarray(0, 30), 'gzip'), 400, 'not valid gzip data'],
  ['an empty gzip body', coded(zeros(0), 'gzip'), 400, 'not valid gzip data'],
  ['a small bomb', coded(gzipSync(zeros(2_000_000)), 'gzip'), 413, 'larger than 30000 bytes when decompressed'],
  [
    'a deflate bomb',
    coded(deflateSync(zeros(20_000_000)), 'deflate'),
    413,
    'larger than 30000 bytes when decompressed',
  ],
  [
    'JSON over its limit once unpacked',
    coded(gzipSync(Buffer.from(`{"a":"${'a'.repeat(25_000)}","inputs":[]}`)), 'gzip'),
    413,
    'more than the 20000 allowed',
  ],
  [
    'a raw request for an unknown model',
    { ...post(zeros(8), [['inference-header-content-length', '0']]), target: '/v2/models/no/infer' },
    404,
    "unknown model: 'no'",
  ],
  [
    'a raw request of the wrong size',
    post(zeros(7), [['inference-header-content-length', '0']]),
    400,
    'takes 8 bytes, and the body has 7',
  ],
  [
    'a classification of an unknown model',
    { ...withOutput('{"classification":1}'), target: '/v2/models/no/infer' },
    404,
    "unknown model: 'no'",
  ],
  ['GET', { target }, 405, 'Method Not Allowed'],
  ['a version that is a word', { ...post(goodBody), target: '/v2/models/m/versions/one/infer' }, 404, 'Not Found'],
  ['a version that is negative', { ...post(goodBody), target: '/v2/models/m/versions/-1/infer' }, 404, 'Not Found'],
  ['no model', { ...post(goodBody), target: '/v2/models//infer' }, 404, 'Not Found'],
  ['a model that cannot be decoded', { ...post(goodBody), target: '/v2/models/%ff/infer' }, 400, 'percent-encoded'],
  ['a longer path', { ...post(goodBody), target: '/v2/models/m/infer/more' }, 404, 'Not Found'],
];

export const malformedCorpus: readonly MalformedCase[] = [
  ...text,
  ...structure,
  ...data,
  ...tail,
  ...parameters,
  ...frame,
];
