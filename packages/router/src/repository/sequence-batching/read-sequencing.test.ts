import { describe, expect, test } from 'vitest';
import { type GivenModel, readTestModel, serveTestModel } from '../testing/test-model.ts';

const int32 = 6;
const float = 1;
const text = 8;
const uint64 = 13;

const client =
  'input { name: "x" data_type: TYPE_FP32 dims: [ 4 ] }\noutput { name: "y" data_type: TYPE_FP32 dims: [ 4 ] }\n';

const controls = `control_input [
  { name: "START" control { kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, 5 ] } },
  { name: "READY" control { kind: CONTROL_SEQUENCE_READY fp32_false_true: [ -1, 1 ] } },
  { name: "ID" control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_UINT64 } }
]`;

const state = 'state { input_name: "s" output_name: "t" data_type: TYPE_FP32 dims: [ 2 ] }';

/** A graph with all of these tensors; the configuration's beginning is on line 1 to 3. */
function given(sequences: string, overrides: Partial<GivenModel> = {}, head = 'max_batch_size: 8'): GivenModel {
  return {
    config: `${head}\n${client}sequence_batching { ${sequences} }`,
    inputs: {
      x: [float, ['n', 4]],
      START: [int32, ['n', 1]],
      READY: [float, ['n', 1]],
      ID: [uint64, ['n', 1]],
      s: [float, ['n', 2]],
    },
    outputs: { y: [float, ['n', 4]], t: [float, ['n', 2]] },
    ...overrides,
  };
}

describe('a model with sequences', () => {
  test('shows its clients what they send and get, and loads with all of it', async () => {
    const { view, sequencing } = await serveTestModel(given(`${controls} ${state}`));
    expect(view.inputs.map(({ name }) => name)).toEqual(['x']);
    expect(view.outputs.map(({ name }) => name)).toEqual(['y']);
    expect(sequencing?.engineView.inputs).toEqual([
      { name: 'x', datatype: 'FP32', shape: [-1, 4] },
      { name: 'START', datatype: 'INT32', shape: [-1, 1] },
      { name: 'READY', datatype: 'FP32', shape: [-1, 1] },
      { name: 'ID', datatype: 'UINT64', shape: [-1, 1] },
      { name: 's', datatype: 'FP32', shape: [-1, 2] },
    ]);
    expect(sequencing?.engineView.outputs.map(({ name }) => name)).toEqual(['y', 't']);
    expect(sequencing?.controls.map(({ kind }) => kind)).toEqual(['start', 'ready', 'correlation-id']);
    expect(sequencing?.controls[0]).toMatchObject({
      falseData: Uint8Array.of(0, 0, 0, 0),
      trueData: Uint8Array.of(5, 0, 0, 0),
    });
    expect(sequencing?.states).toEqual([
      {
        spec: { name: 's', datatype: 'FP32', shape: [-1, 2] },
        output: 1,
        initialShape: [1, 2],
        initialData: new Uint8Array(8),
      },
    ]);
  });

  test('has a slot for every row of every instance, lives idle for a second, and asks nothing of the queue', async () => {
    const group = 'max_batch_size: 8 instance_group { count: 3 }';
    const { sequencing, policy, view } = await serveTestModel(given(`${controls} ${state}`, {}, group));
    expect(sequencing?.policy).toEqual({
      modelName: 'm',
      slotsMax: 24,
      backlogSequencesMax: 1024,
      idleMsMax: 1000,
      slotWaitMsMax: 30_000,
      waitingStepsMax: 4096,
      waitingBytesMax: 256 * 1024 * 1024,
    });
    expect(policy).toMatchObject({ preferredRows: [], delayMs: 0, isOrdered: false });
    expect(view.config).toMatchObject({ sequence_batching: { direct: {}, max_sequence_idle_microseconds: 1_000_000 } });
    expect(view.config).not.toHaveProperty('dynamic_batching');
  });

  test('oldest: candidates for each instance, and a batcher of its own', async () => {
    const oldest =
      'oldest { max_candidate_sequences: 5 preferred_batch_size: [ 8, 4 ] max_queue_delay_microseconds: 2500 preserve_ordering: true }';
    const idle = 'max_sequence_idle_microseconds: 250000';
    const { sequencing, policy } = await serveTestModel(given(`${oldest} ${idle} ${controls} ${state}`));
    expect(sequencing?.policy).toMatchObject({ slotsMax: 5, idleMsMax: 250 });
    expect(policy).toMatchObject({ preferredRows: [4, 8], delayMs: 2.5, isOrdered: true });
  });

  test('direct: a batch is held back for a minimum share of the slots', async () => {
    const direct = 'direct { minimum_slot_utilization: 0.3 max_queue_delay_microseconds: 1000 }';
    const { policy } = await serveTestModel(given(`${direct} ${controls} ${state}`));
    expect(policy).toMatchObject({ preferredRows: [3], delayMs: 1 });
  });

  test('a state may be shown to clients too', async () => {
    const config = given(`${controls} ${state}`).config?.replace(
      'output {',
      'output { name: "t" data_type: TYPE_FP32 dims: [ 2 ] } output {',
    );
    const { view, sequencing } = await serveTestModel(given('', { config: config as string }));
    expect(view.outputs.map(({ name }) => name)).toEqual(['t', 'y']);
    expect(sequencing?.engineView.outputs).toHaveLength(2);
    expect(sequencing?.states[0]?.output).toBe(0);
  });

  test('a state begins as its file says, and free sizes begin as 1', async () => {
    const inputs = { x: [float, ['n', 4]], s: [float, ['n', 'm', 2]] } as const;
    const outputs = { y: [float, ['n', 4]], t: [float, ['n', 'm', 2]] } as const;
    const free = state.replace('dims: [ 2 ] }', 'dims: [ -1, 2 ] initial_state { data_file: "f" } }');
    const bytes = new Uint8Array(Float32Array.of(1.5, -2).buffer);
    const files = { 'initial_state/f': bytes };
    const { sequencing } = await serveTestModel(given(free, { inputs, outputs, files }));
    expect(sequencing?.states[0]).toMatchObject({ initialShape: [1, 1, 2], initialData: bytes });
  });

  test('without a batch dimension a control is one value and there is a slot for each instance', async () => {
    const inputs = { x: [float, [4]], START: [int32, [1]], s: [float, [2]] } as const;
    const outputs = { y: [float, [4]], t: [float, [2]] } as const;
    const start = 'control_input { name: "START" control { kind: CONTROL_SEQUENCE_START int32_false_true: [ 0, 1 ] } }';
    const { sequencing } = await serveTestModel(given(`${start} ${state}`, { inputs, outputs }, 'max_batch_size: 0'));
    expect(sequencing?.policy.slotsMax).toBe(1);
    expect(sequencing?.controls[0]?.spec.shape).toEqual([1]);
    expect(sequencing?.states[0]?.initialShape).toEqual([2]);
  });

  test('as many sequences are active as have room for their state', async () => {
    const limit =
      'max_batch_size: 8 parameters { key: "millrace.sequence_state_bytes_max" value { string_value: "20" } }';
    const { sequencing, warnings } = await serveTestModel(given(`${controls} ${state}`, {}, limit));
    expect(sequencing?.policy.slotsMax).toBe(2);
    expect(warnings[0]?.message).toMatch(/has 8 bytes.*is 20: 2 instead of 8 sequences are active at a time/);
  });

  test.each([
    ['use_growable_memory', /a state may grow and shrink/],
    ['use_same_buffer_for_input_output', /copied between two steps/],
  ])('%s is served with a warning', async (field, message) => {
    const { warnings } = await serveTestModel(given(`${controls} ${state.replace(' }', ` ${field}: true }`)}`));
    expect(warnings).toMatchObject([{ field: `sequence_batching.state[0].${field}`, line: 8 }]);
    expect(warnings[0]?.message).toMatch(message);
  });
});

describe('problems are reported with line and field', () => {
  const control = (inside: string, name = 'START') =>
    `control_input { name: "${name}" control { ${inside} } } ${state}`;
  const start = 'kind: CONTROL_SEQUENCE_START';
  const at = 'sequence_batching.control_input[0]';
  test.each<[sequences: string, field: string, message: RegExp]>([
    [
      control(`${start} int32_false_true: [ 0 ]`),
      `${at}.control[0].int32_false_true`,
      /must have two values.*it has 1/,
    ],
    [control(start), `${at}.control[0]`, /exactly one of int32_false_true, fp32_false_true, bool_false_true; it has 0/],
    [control(`${start} int32_false_true: [0,1] fp32_false_true: [0,1]`), `${at}.control[0]`, /exactly one.*it has 2/],
    [control(`${start} fp32_false_true: [ 0, 1 ]`), `${at}.name`, /sent as TYPE_FP32, but the graph has TYPE_INT32/],
    [
      control(`${start} int32_false_true: [ 0, 1 ]`, 'GO'),
      `${at}.name`,
      /the graph has no input "GO"; it has x, START/,
    ],
    [
      control(`${start} fp32_false_true: [ 0, 1 ]`, 's'),
      `${at}.name`,
      /has the shape \[ -1, 2 \].*a control has \[ -1, 1 \]/,
    ],
    [
      control('kind: CONTROL_SEQUENCE_CORRID'),
      `${at}.control[0].data_type`,
      /is TYPE_INVALID; a correlation id is one of/,
    ],
    [
      control('kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_FP32'),
      `${at}.control[0].data_type`,
      /is TYPE_FP32; a correlation id is one of TYPE_UINT64, TYPE_INT64/,
    ],
    [
      control('kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_UINT64 int32_false_true: [0,1]', 'ID'),
      `${at}.control[0].int32_false_true`,
      /no meaning for a correlation id/,
    ],
    [`control_input { name: "START" } ${state}`, `${at}.control`, /must be written exactly once/],
    [
      `control_input [ { name: "START" control { ${start} int32_false_true: [0,1] } }, { name: "READY" control { ${start} fp32_false_true: [0,1] } } ] ${state}`,
      'sequence_batching.control_input[1].control[0].kind',
      /is already carried by another input/,
    ],
    [state.replace('"s"', '"q"'), 'sequence_batching.state[0].input_name', /no input "q"/],
    [state.replace('"t"', '"q"'), 'sequence_batching.state[0].output_name', /no output "q"; it has y, t/],
    [
      state.replace('FP32', 'INT8'),
      'sequence_batching.state[0].data_type',
      /is TYPE_INT8, but the graph has TYPE_FP32/,
    ],
    [state.replace('[ 2 ]', '[ 3 ]'), 'sequence_batching.state[0].dims', /is \[ 3 \], but the graph has \[ 2 \]/],
    [`${state} ${state}`, 'sequence_batching.state[1]', /the input s already belongs to another state/],
    [
      state.replace(' }', ' initial_state { dims: [ 3 ] zero_data: true } }'),
      'sequence_batching.state[0].initial_state[0].dims',
      /is \[ 3 \], which is not a shape of the state \[ 2 \]/,
    ],
    [
      state.replace(' }', ' initial_state { data_type: TYPE_INT8 zero_data: true } }'),
      'sequence_batching.state[0].initial_state[0].data_type',
      /is TYPE_INT8, but the state is TYPE_FP32/,
    ],
    [
      state.replace(' }', ' initial_state { zero_data: true } initial_state { zero_data: true } }'),
      'sequence_batching.state[0].initial_state',
      /must be written exactly once/,
    ],
    [
      state.replace(' }', ' initial_state { data_file: "absent" } }'),
      'sequence_batching.state[0].initial_state[0].data_file',
      /initial_state\/absent/,
    ],
    [
      state.replace(' }', ' initial_state { data_file: "../f" } }'),
      'sequence_batching.state[0].initial_state[0].data_file',
      /must be in the model's initial_state folder/,
    ],
    [
      state.replace(' }', ' initial_state { data_file: "short" } }'),
      'sequence_batching.state[0].initial_state[0].data_file',
      /has 3 bytes; FP32 \[ 1, 2 \] takes 8/,
    ],
    [`oldest { } ${state}`, 'sequence_batching.oldest.max_candidate_sequences', /must be 1 or more/],
    [
      `oldest { max_candidate_sequences: 1 preferred_batch_size: 9 } ${state}`,
      'sequence_batching.oldest.preferred_batch_size[0]',
      /9 is out of range; it must be from 1 to max_batch_size \(8\)/,
    ],
    [
      `direct { minimum_slot_utilization: 1.5 } ${state}`,
      'sequence_batching.direct.minimum_slot_utilization',
      /is 1.5; it must be from 0 to 1/,
    ],
  ])('%s', async (sequences, field, message) => {
    const files = { 'initial_state/short': Uint8Array.of(1, 2, 3) };
    const { failures } = await readTestModel(given(sequences, { files }));
    const problem = failures.flatMap(({ problems }) => problems).find((candidate) => candidate.field === field);
    expect(problem?.message).toMatch(message);
    expect(problem?.line).toBe(4);
  });

  test('a state that has no room for one sequence', async () => {
    const limit =
      'max_batch_size: 8 parameters { key: "millrace.sequence_state_bytes_max" value { string_value: "7" } }';
    const { failures } = await readTestModel(given(`${controls} ${state}`, {}, limit));
    expect(failures[0]?.problems[0]?.message).toMatch(/so no sequence fits; raise it/);
  });

  test.each(['1000000000', '9000000000000000'])('a state that begins with %s numbers', async (size) => {
    const grown = `${controls} state { input_name: "s" output_name: "t" data_type: TYPE_FP32 dims: [ -1 ]
      initial_state { name: "i" data_type: TYPE_FP32 dims: [ ${size} ] zero_data: true } }`;
    const graph = given(grown);
    const inputs = { ...graph.inputs, s: [float, ['n', 'free']] as const };
    const outputs = { ...graph.outputs, t: [float, ['n', 'free']] as const };
    const { failures } = await readTestModel({ ...graph, inputs, outputs });
    const problem = failures[0]?.problems.find(({ message }) => message.includes('so no sequence fits'));
    expect(problem?.field).toBe('sequence_batching.state[0].initial_state[0]');
  });

  test('an input that the server gives is not listed for clients', async () => {
    const config = `max_batch_size: 8\n${client}input { name: "s" data_type: TYPE_FP32 dims: [ 2 ] }\nsequence_batching { ${controls} ${state} }`;
    const { failures } = await readTestModel(given('', { config }));
    expect(failures[0]?.problems).toMatchObject([{ field: 'input[1].name' }, { field: 'input[1].name', line: 4 }]);
    expect(failures[0]?.problems[1]?.message).toMatch(/is provided by the server/);
  });

  test('an id that is text needs an input of text', async () => {
    const inputs = { x: [float, ['n', 4]], ID: [text, ['n', 1]], s: [float, ['n', 2]] } as const;
    const id = 'control_input { name: "ID" control { kind: CONTROL_SEQUENCE_CORRID data_type: TYPE_STRING } }';
    const { sequencing } = await serveTestModel(given(`${id} ${state}`, { inputs }));
    expect(sequencing?.controls[0]?.spec.datatype).toBe('BYTES');
  });
});
