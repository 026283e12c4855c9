import { configFields, type NamedField } from 'millrace';
import { expect, test } from 'vitest';

const groups: Readonly<Record<string, string>> = {
  models: 'What is served.',
  server: 'Who this server is, where it listens and for which hosts it answers ([access.md](../operating/access.md)).',
  management: 'Where the running server can be seen and changed: whoever reaches that port or socket may do so.',
  tls: 'Encryption, and who may call. Without a certificate the ports speak plain HTTP.',
  log: 'What it says, and how.',
  shutdown: 'What happens between SIGTERM and the end.',
  http: 'What one client may ask of the server. A request over a limit is refused by name, never cut short.',
  memory: 'What requests may hold, and how long one waits for its share.',
  queue: 'How much may wait. A model may set its own limits; these hold for those that do not, and for all together.',
  shadow: 'Copies of requests for shadow versions, whose answers are compared under real traffic.',
  store: 'Where it keeps what must outlive it.',
  streams: 'Streams that survive lost connections, workers and servers.',
  cache: 'Results that are kept. A model takes part by `response_cache { enable: true }` in its configuration.',
  worker: 'Where and how models run.',
};

function section(group: string): string[] {
  const members = configFields.filter((field) => field.group === group);
  return [
    `## ${group}`,
    '',
    groups[group] ?? '',
    '',
    '| Field | Default | Takes | Flag and variable | Meaning |',
    '|---|---|---|---|---|',
    ...members.map(row),
    '',
  ];
}

function row({ path, variable, field }: NamedField): string {
  const fallback = field.format(field.default);
  const flag = field.placeholder === undefined ? `--[no-]${field.flag}` : `--${field.flag}`;
  const meaning = field.isReloadable === true ? `${field.description} SIGHUP applies changes.` : field.description;
  return `| \`${path}\` | \`${fallback}\` | ${field.takes} | \`${flag}\` \`${variable}\` | ${meaning} |`;
}

const reference = [
  '# Configuration',
  '',
  '<!-- Made from packages/millrace/src/config/fields.ts by `npm run reference`; a test keeps both equal. -->',
  '',
  'Every setting has a default, a field in the configuration file, a variable and a flag. Flags win over variables,',
  'variables over the file, the file over the defaults. A program that embeds Millrace writes the same fields as options.',
  '',
  'All problems are reported at once, with file, line and field, and with exit code 2, before anything is opened. Values',
  'that a later layer overrides are checked too.',
  '',
  '```yaml',
  '# millrace serve --config millrace.yaml, or MILLRACE_CONFIG=millrace.yaml',
  'models:',
  '  paths: [./models]',
  'server:',
  '  host: 0.0.0.0',
  'http:',
  '  bodyBytesMax: 512MiB',
  'shutdown:',
  '  drainSecondsMax: 2min',
  '```',
  '',
  '- An empty variable counts as not set.',
  '- A variable for several folders separates them by colons, as PATH does; a flag for several is repeated.',
  '- A switch is turned off by `--no-…`; its variable takes true or false (also yes, on, 1; no, off, 0).',
  '- Unknown MILLRACE_ variables are problems, so a misspelt one is not silently without effect. Those that Kubernetes',
  '  makes for Services named `millrace…` (MILLRACE_SERVICE_HOST, MILLRACE_PORT_8000_TCP and their like) are not settings.',
  '- SIGHUP reads the configuration again. What is marked below is applied to the running server, other changes take a',
  '  restart and are named in the log ([reload.md](../operating/reload.md)).',
  '',
  ...Object.keys(groups).flatMap(section),
].join('\n');

test('docs/reference/config.md says what the field table says', async () => {
  await expect(reference).toMatchFileSnapshot('../../docs/reference/config.md');
});

test('every group of fields is described', () => {
  expect(Object.keys(groups)).toEqual([...new Set(configFields.map((field) => field.group))]);
});
