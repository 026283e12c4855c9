import { expect, test } from 'vitest';
import { jsonFromModelConfig, readModelConfig, readModelConfigJson } from './read-model-config.ts';

function problemsIn(json: string): readonly string[] {
  const { findings } = readModelConfigJson(json, 'config');
  return findings.problems.map(({ field, message }) => `${field ?? ''}: ${message}`);
}

test('a configuration in JSON means what it means as text', () => {
  const text = `name: "m" max_batch_size: 8 version_policy { specific { versions: [ 1, 9007199254740993 ] } }
    input { name: "x" data_type: TYPE_FP32 dims: [ -1, 4 ] }
    instance_group [ { count: 2 kind: KIND_CPU } ]
    dynamic_batching { preferred_batch_size: [ 4, 8 ] max_queue_delay_microseconds: 100 preserve_ordering: true }
    parameters { key: "millrace.threads" value { string_value: "2" } }`;
  const json = `{"name":"m","max_batch_size":8,"version_policy":{"specific":{"versions":[1,"9007199254740993"]}},
    "input":[{"name":"x","data_type":"TYPE_FP32","dims":[-1,"4"],"reshape":null}],
    "instanceGroup":[{"count":2,"kind":"KIND_CPU"}],
    "dynamic_batching":{"preferred_batch_size":[4,8],"max_queue_delay_microseconds":"100","preserve_ordering":true},
    "parameters":{"millrace.threads":{"string_value":"2"}}}`;
  const fromText = readModelConfig(Buffer.from(text), 'config.pbtxt');
  const fromJson = readModelConfigJson(json, 'config');
  expect(fromJson.findings.problems).toEqual([]);
  expect(fromJson.config).toEqual(fromText.config);
});

test('what the server shows of a configuration can be given back to it', () => {
  const { config } = readModelConfig(
    Buffer.from('max_batch_size: 4 input { name: "x" data_type: TYPE_INT8 dims: 3 }'),
    '',
  );
  const shown = JSON.stringify(jsonFromModelConfig(config));
  expect(readModelConfigJson(shown, 'config').findings.problems).toEqual([]);
});

test.each([
  ['{"max_batch_sise":1}', [expect.stringContaining('max_batch_sise: there is no such field')]],
  ['{"max_batch_size":"many"}', ['max_batch_size: expected a whole number, found many']],
  ['{"input":[{"dims":["x"]}]}', ['input[0].dims[0]: expected a whole number, found x']],
  ['{"input":[{"data_type":"FP32"}]}', [expect.stringContaining('input[0].data_type: FP32 is none of')]],
  ['{"input":5}', ['input[0]: is a block: write its fields between { and }']],
  ['{"name":["a"]}', ['name: takes one value, not a list']],
  ['{"parameters":[1]}', ['parameters: is a map: write { key: … value: … }']],
  ['[]', [': must be a JSON object, the fields of a model configuration']],
  ['{"name":', [expect.stringContaining(': JSON at line 1')]],
  ['{"dynamic_batching":{"preferred_batch_size":[[1]]}}', [expect.stringContaining('preferred_batch_size[0]')]],
])('%s is refused by the name of its field', (json, problems) => {
  expect(problemsIn(json)).toEqual(problems);
});
