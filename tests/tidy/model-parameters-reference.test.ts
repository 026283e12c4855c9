import {
  modelKinds,
  modelParameters,
  type ParameterKind,
  type ParameterName,
  parameterFamilies,
  reportedParameters,
} from '@millrace/router/internal';
import { expect, test } from 'vitest';

const rows = [
  ...Object.entries<ParameterKind>(modelParameters).map(([name, kind]) => ({
    name,
    ...kind,
    takes: takesOf(kind),
    kinds: kindsWith(name as ParameterName),
  })),
  ...parameterFamilies.map(({ prefix, of, ...kind }) => ({ name: `${prefix}${of}`, ...kind, kinds: '' })),
].sort((a, b) => (a.name < b.name ? -1 : 1));

/** Empty: for models that have such a tensor or instance group. */
function kindsWith(parameter: ParameterName): string {
  const kinds = modelKinds.filter(({ parameters }) => parameters.includes(parameter));
  return kinds.length === modelKinds.length ? 'all' : kinds.map(({ name }) => name).join(', ');
}

function takesOf({ range, choices, form, takes }: ParameterKind): string {
  if (range !== undefined) return `a whole number from ${range.join(' to ')}`;
  if (choices !== undefined) return choices.map((choice) => `\`${choice}\``).join(', ');
  return form === undefined ? (takes ?? '') : 'a name';
}

const reference = [
  '# Model parameters',
  '',
  '<!-- Made from packages/router/src/repository/model-parameters.ts by `npm run reference`; a test keeps both equal. -->',
  '',
  "Settings of one model that Triton's configuration has no field for. They stand in `config.pbtxt`, as texts:",
  '',
  '```',
  'parameters { key: "millrace.latency_target_ms" value { string_value: "50" } }',
  '```',
  '',
  'A misspelt name, or a value that does not fit, keeps the model from being loaded and is reported with file,',
  "line and field. intra_op_thread_count of Triton's ONNX Runtime backend is read as `millrace.threads`; parameters for other",
  'servers are warned of and have no effect. Where the column *without it* names a setting of the server,',
  '[config.md](config.md) explains that. A parameter that does not apply to the kind of a model is refused.',
  '',
  '| Parameter | For | Takes | Without it | Meaning |',
  '|---|---|---|---|---|',
  ...rows.map(
    ({ name, kinds, takes, without, meaning }) => `| \`${name}\` | ${kinds} | ${takes} | ${without} | ${meaning} |`,
  ),
  '',
  'The server adds these to the configuration that it shows (`/v2/models/MODEL/config`). They need not be removed from one that is sent back: what they said then is ignored.',
  '',
  '| Parameter | Meaning |',
  '|---|---|',
  ...Object.entries(reportedParameters).map(([name, meaning]) => `| \`${name}\` | ${meaning} |`),
  '',
].join('\n');

test('docs/reference/model-parameters.md says what the table of parameters says', async () => {
  await expect(reference).toMatchFileSnapshot('../../docs/reference/model-parameters.md');
});

test('every parameter says what it takes', () => {
  expect(rows.filter(({ takes }) => takes === '').map(({ name }) => name)).toEqual([]);
});
