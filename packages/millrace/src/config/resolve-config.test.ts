import { ConfigError, formatConfigProblem } from '@millrace/protocol';
import { expect, test } from 'vitest';
import { configFields, type Options } from './fields.ts';
import { type ConfigSources, resolveConfig } from './resolve-config.ts';

type Sources = Omit<ConfigSources, 'cwd' | 'file'> & { yaml?: string };

function resolve({ yaml, ...sources }: Sources) {
  return resolveConfig({
    ...sources,
    ...(yaml === undefined ? {} : { file: { path: 'etc/m.yaml', text: yaml } }),
    cwd: '/home/me',
  });
}

function problemsOf(sources: Sources): string[] {
  try {
    resolve(sources);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems.map(formatConfigProblem);
    throw error;
  }
  return [];
}

function flag(name: string, value: unknown): NonNullable<ConfigSources['flags']>[number] {
  const field = configFields.find((one) => one.field.flag === name);
  if (field === undefined) throw new Error(`no flag ${name}`);
  return { field, value, source: `--${name}`, folder: '/home/me' };
}

test('nothing written means the defaults, and they are valid', () => {
  const config = resolve({});
  expect(config.server).toEqual({
    id: 'millrace',
    callerHeader: '',
    trustedProxies: [],
    host: '127.0.0.1',
    pollMicrosMax: 200,
    allowedHosts: [],
    httpPort: 8000,
    grpcPort: 8001,
    metricsPort: 8002,
    supervise: true,
  });
  for (const { path, field } of configFields) {
    expect(field.parse(field.default, '/'), path).toEqual({ value: field.default });
  }
});

test('the field that names callers is a header field in lower case, or none', () => {
  expect(resolve({ yaml: 'server:\n  callerHeader: X-Team\n' }).server.callerHeader).toBe('x-team');
  expect(resolve({ flags: [flag('caller-header', '')] }).server.callerHeader).toBe('');
  expect(() => resolve({ flags: [flag('caller-header', 'x team')] })).toThrow('--caller-header');
});

test('the default context is a model, one of its versions or labels, or none', () => {
  expect(resolve({}).streams.defaultContext).toBe('storyteller');
  for (const context of ['', 'tales', 'tales:2', 'tales@stable']) {
    expect(resolve({ flags: [flag('default-context', context)] }).streams.defaultContext).toBe(context);
  }
  for (const context of ['my tales', 'tales:', 'tales:1@stable', 'x'.repeat(257)]) {
    expect(() => resolve({ flags: [flag('default-context', context)] })).toThrow('--default-context');
  }
});

test('limits of connections have finite defaults and are checked by name', () => {
  expect(resolve({}).http).toMatchObject({
    connectionsMax: 10_000,
    connectionsPerAddressMax: 1000,
    handshakesMax: 2000,
    handshakesPerAddressMax: 500,
  });
  const flags = [flag('connections-per-address-max', '0'), flag('handshakes-max', 'many')];
  expect(problemsOf({ flags })).toEqual([
    expect.stringContaining('http.connectionsPerAddressMax: must be a whole number, 1 to 1000000'),
    expect.stringContaining('http.handshakesMax: must be a whole number'),
  ]);
});

test('trusted proxies are addresses and CIDR ranges, between commas or as a list', () => {
  const proxies = ['10.0.0.0/8', '2001:db8::1'];
  expect(resolve({ flags: [flag('trusted-proxies', '10.0.0.0/8, 2001:db8::1')] }).server.trustedProxies).toEqual(
    proxies,
  );
  const yaml = `server:\n  trustedProxies: ${JSON.stringify(proxies)}\n`;
  expect(resolve({ yaml }).server.trustedProxies).toEqual(proxies);
  expect(resolve({ environment: { MILLRACE_TRUSTED_PROXIES: '::1' } }).server.trustedProxies).toEqual(['::1']);
  for (const written of ['proxy.example', '10.0.0.0/33', '10.0.0.1,', 'fe80::1%eth0', '']) {
    expect(problemsOf({ flags: [flag('trusted-proxies', written)] }), written).toEqual([
      expect.stringContaining('must be IP addresses or CIDR ranges like 10.0.0.0/8'),
    ]);
  }
});

test('management is left to the server, or on, on a port or socket of its own, or off', () => {
  const listener = { port: 'same', socket: '', host: '127.0.0.1' } as const;
  expect(resolve({}).management).toEqual({ enabled: 'auto', ...listener });
  const own = { flags: [flag('management-port', '9000'), flag('management-host', '::1')] };
  expect(resolve(own).management).toEqual({ enabled: 'auto', ...listener, port: 9000, host: '::1' });
  const open = { flags: [...own.flags, flag('management-host', '0.0.0.0'), flag('management', true)] };
  expect(resolve(open).management).toEqual({ enabled: true, ...listener, port: 9000, host: '0.0.0.0' });
  const socket = { yaml: 'management:\n  socket: run/m.sock\n  enabled: auto\n' };
  expect(resolve(socket).management).toEqual({ enabled: 'auto', ...listener, socket: '/home/me/etc/run/m.sock' });
  expect(resolve({ yaml: 'management:\n  port: same\n  enabled: false\n' }).management.enabled).toBe(false);
});

test('hosts that requests may name stand between commas, also IPv6 addresses in a variable', () => {
  const { server } = resolve({ environment: { MILLRACE_ALLOWED_HOSTS: 'gpu-1, *.example.com,fd00::1,10.0.0.7' } });
  expect(server.allowedHosts).toEqual(['gpu-1', '*.example.com', 'fd00::1', '10.0.0.7']);
  expect(resolve({ yaml: 'server:\n  allowedHosts: ["*"]\n' }).server.allowedHosts).toEqual(['*']);
});

test('the configuration cannot be changed, at any depth', () => {
  const config = resolve({ options: { models: { paths: ['a'] } } });
  expect(Object.isFrozen(config) && Object.isFrozen(config.server) && Object.isFrozen(config.models.paths)).toBe(true);
  expect(() => Object.assign(config.server, { httpPort: 1 })).toThrow(TypeError);
});

test('each layer wins over the ones before it', () => {
  const options: Options = { server: { httpPort: 1, metricsPort: 1001, id: 'options', host: 'options.example' } };
  const yaml = 'server:\n  httpPort: 2\n  metricsPort: 1002\n  id: file\n';
  const environment = { MILLRACE_HTTP_PORT: '3', MILLRACE_METRICS_PORT: '1003' };
  const flags = [flag('http-port', '4')];
  expect(resolve({ options, yaml, environment, flags }).server).toEqual({
    httpPort: 4,
    grpcPort: 8001,
    metricsPort: 1003,
    supervise: true,
    callerHeader: '',
    trustedProxies: [],
    id: 'file',
    host: 'options.example',
    pollMicrosMax: 200,
    allowedHosts: [],
  });
});

test('relative folders start at the file that names them, or where the command runs', () => {
  const paths = (sources: Sources) => resolve(sources).models.paths;
  expect(paths({ yaml: 'models:\n  paths: [a, /b, ../c]\n' })).toEqual(['/home/me/etc/a', '/b', '/home/me/c']);
  expect(paths({ yaml: 'models:\n  paths: a\n' })).toEqual(['/home/me/etc/a']);
  expect(paths({ environment: { MILLRACE_MODELS: 'a:/b:' } })).toEqual(['/home/me/a', '/b']);
  expect(paths({ flags: [flag('models', ['a', 'b'])] })).toEqual(['/home/me/a', '/home/me/b']);
});

test('every value that YAML and variables may hold is understood', () => {
  const yaml = [
    'log: &anchor',
    '  level: debug # why not',
    '  requests: yes',
    'http:',
    '  jsonBytesMax: 32MiB',
    '  bodyBytesMax: 67108864',
    '  headerSecondsMax: 1.5',
    '  stallSecondsMax: "2min"',
    'worker: { lane: inline, threads: 4, sharedMemory: false }',
  ].join('\n');
  const config = resolve({ yaml, environment: { MILLRACE_EXIT_ON_MODEL_ERROR: 'on', MILLRACE_LOG_FORMAT: 'json' } });
  expect(config.log).toEqual({ level: 'debug', format: 'json', requests: true });
  expect(config.http).toMatchObject({
    jsonBytesMax: 32 * 1024 ** 2,
    bodyBytesMax: 64 * 1024 ** 2,
    headerSecondsMax: 1.5,
    stallSecondsMax: 120,
  });
  expect(config.worker).toMatchObject({ lane: 'inline', threads: 4, sharedMemory: false });
  expect(config.models.exitOnError).toBe(true);
});

test.each(['', '\n', '# nothing\n', '---\n', 'null\n'])('an empty file (%j) changes nothing', (yaml) => {
  expect(resolve({ yaml })).toEqual(resolve({}));
});

test('variables that are empty, of others, or made by Kubernetes are not settings', () => {
  const environment = {
    PATH: '/bin',
    MILLRACE_HTTP_PORT: '',
    MILLRACE_LOG_LEVEL: undefined,
    MILLRACE_CONFIG: 'read elsewhere',
    MILLRACE_SERVICE_HOST: '10.0.0.1',
    MILLRACE_SERVICE_PORT: '8000',
    MILLRACE_SERVICE_PORT_HTTP: '8000',
    MILLRACE_PORT: 'tcp://10.0.0.1:8000',
    MILLRACE_METRICS_PORT: 'tcp://10.0.0.2:8002',
    MILLRACE_PORT_8000_TCP: 'tcp://10.0.0.1:8000',
    MILLRACE_PORT_8000_TCP_ADDR: '10.0.0.1',
  };
  expect(resolve({ environment })).toEqual(resolve({}));
});

const wholePort = 'must be a whole number, 0 to 65535';

test.each<[string, Sources, string[]]>([
  [
    'text for a number',
    { yaml: 'server:\n  httpPort: http\n' },
    [`etc/m.yaml:2: server.httpPort: ${wholePort}, not "http"`],
  ],
  ['a fraction', { yaml: 'server:\n  httpPort: 80.5\n' }, [`etc/m.yaml:2: server.httpPort: ${wholePort}, not 80.5`]],
  ['too low', { yaml: 'server:\n  httpPort: -1\n' }, [`etc/m.yaml:2: server.httpPort: ${wholePort}, not -1`]],
  ['too high', { yaml: 'server:\n  httpPort: 65536\n' }, [`etc/m.yaml:2: server.httpPort: ${wholePort}, not 65536`]],
  ['a boolean', { yaml: 'server:\n  httpPort: true\n' }, [`etc/m.yaml:2: server.httpPort: ${wholePort}, not true`]],
  ['a list', { yaml: 'server:\n  httpPort: [1]\n' }, [`etc/m.yaml:2: server.httpPort: ${wholePort}, not [ 1 ]`]],
  [
    'a mapping',
    { yaml: 'server:\n  httpPort: {a: 1}\n' },
    [`etc/m.yaml:2: server.httpPort: ${wholePort}, not { a: 1 }`],
  ],
  [
    'no value',
    { yaml: 'server:\n\n  httpPort:\n' },
    ['etc/m.yaml:3: server.httpPort: has no value; give it one or remove the line'],
  ],
  ['a date', { yaml: 'server:\n  httpPort: 0x\n' }, [`etc/m.yaml:2: server.httpPort: ${wholePort}, not "0x"`]],
  [
    'an unknown field',
    { yaml: 'server:\n  hsot: a\n' },
    ['etc/m.yaml:2: server.hsot: is not a field. Did you mean host?'],
  ],
  [
    'a field of another group',
    { yaml: 'http:\n  httpPort: 1\n' },
    ['etc/m.yaml:2: http.httpPort: is not a field. Did you mean server.httpPort?'],
  ],
  [
    'a synonym',
    { yaml: 'server:\n  model-repository: 1\n' },
    ['etc/m.yaml:2: server.model-repository: is not a field. Did you mean models.paths?'],
  ],
  ['a field from nowhere', { yaml: 'server:\n  zebra: 1\n' }, ['etc/m.yaml:2: server.zebra: is not a field.']],
  [
    'an unknown group',
    { yaml: '# x\nserver_: {}\n' },
    ['etc/m.yaml:2: server_: is not a group of fields. Did you mean server?'],
  ],
  [
    'a field without its group',
    { yaml: 'httpPort: 8000\n' },
    ['etc/m.yaml:1: httpPort: is not a group of fields. httpPort belongs under server:, indented.'],
  ],
  [
    'a dotted name',
    { yaml: 'server.httpPort: 8000\n' },
    ['etc/m.yaml:1: server.httpPort: is not a group of fields. httpPort belongs under server:, indented.'],
  ],
  [
    'a group that is a value',
    { yaml: 'server: 5\n' },
    ['etc/m.yaml:1: server: must hold fields, one a line, indented under server:'],
  ],
  [
    'a group without fields',
    { yaml: 'server:\n' },
    ['etc/m.yaml:1: server: must hold fields, one a line, indented under server:'],
  ],
  [
    'a list instead of groups',
    { yaml: '- a\n' },
    [
      'etc/m.yaml:1: must be groups of fields (models, server, management, tls, log, shutdown, http, memory, queue, shadow, store, streams, cache, worker)',
    ],
  ],
  [
    'a text instead of groups',
    { yaml: '\n\nhello\n' },
    [
      'etc/m.yaml:3: must be groups of fields (models, server, management, tls, log, shutdown, http, memory, queue, shadow, store, streams, cache, worker)',
    ],
  ],
  ['a name that is a number', { yaml: '5: {}\n' }, ['etc/m.yaml:1: the name of a field must be plain text']],
  ['a field twice', { yaml: 'server:\n  id: a\n  id: b\n' }, ['etc/m.yaml:3: Map keys must be unique']],
  [
    'an open bracket',
    { yaml: 'server:\n  id: [a\n' },
    ['etc/m.yaml:3: Flow sequence in block collection must be sufficiently indented and end with a ]'],
  ],
  ['a tab', { yaml: 'server:\n\tid: a\n' }, ['etc/m.yaml:2: Tabs are not allowed as indentation']],
  [
    'two documents',
    { yaml: 'server: {id: a}\n---\nserver: {id: b}\n' },
    ['etc/m.yaml:2: a second document begins here; a configuration file holds only one'],
  ],
  [
    'an unknown alias',
    { yaml: 'server:\n  id: *nobody\n' },
    ['etc/m.yaml:2: server.id: Unresolved alias (the anchor must be set before the alias): nobody'],
  ],
  [
    'a certificate without its key',
    { environment: { MILLRACE_TLS_CERTIFICATE_FILE: 'a.pem' } },
    ['MILLRACE_TLS_CERTIFICATE_FILE: tls.certificateFile: and tls.keyFile must be given together'],
  ],
  [
    'client certificates without TLS',
    { environment: { MILLRACE_TLS_CLIENT_AUTHORITY_FILE: 'ca.pem' } },
    [
      'MILLRACE_TLS_CLIENT_AUTHORITY_FILE: tls.clientAuthorityFile: needs tls.certificateFile and tls.keyFile: clients present certificates over TLS only',
    ],
  ],
  [
    'a size without sense',
    { yaml: 'http:\n  jsonBytesMax: lots\n' },
    ['etc/m.yaml:2: http.jsonBytesMax: must be bytes (like 64MiB), 1KiB to 512MiB, not "lots"'],
  ],
  [
    'a size below the least',
    { environment: { MILLRACE_JSON_BYTES_MAX: '1' } },
    ['MILLRACE_JSON_BYTES_MAX: http.jsonBytesMax: must be bytes (like 64MiB), 1KiB to 512MiB, not "1"'],
  ],
  [
    'a size above the most',
    { environment: { MILLRACE_BODY_BYTES_MAX: '3GiB' } },
    ['MILLRACE_BODY_BYTES_MAX: http.bodyBytesMax: must be bytes (like 64MiB), 1KiB to 2147483647, not "3GiB"'],
  ],
  [
    'an open size',
    { environment: { MILLRACE_QUEUE_SERVER_BYTES_MAX: '-5' } },
    ['MILLRACE_QUEUE_SERVER_BYTES_MAX: queue.serverBytesMax: must be bytes (like 64MiB), 1KiB or more, not "-5"'],
  ],
  [
    'a size that is a fraction',
    { options: { worker: { sharedMemoryBytes: 1048576.5 } } },
    ['options: worker.sharedMemoryBytes: must be bytes (like 64MiB), 1MiB to 64GiB, not 1048576.5'],
  ],
  [
    'a time without sense',
    { flags: [flag('drain-seconds-max', 'a while')] },
    ['--drain-seconds-max: shutdown.drainSecondsMax: must be seconds (or like 500ms, 2min), 0 to 3600, not "a while"'],
  ],
  [
    'a time above the most',
    { flags: [flag('drain-seconds-max', '2h')] },
    ['--drain-seconds-max: shutdown.drainSecondsMax: must be seconds (or like 500ms, 2min), 0 to 3600, not "2h"'],
  ],
  [
    'a time that is no number',
    { options: { worker: { runSecondsMax: Number.NaN } } },
    ['options: worker.runSecondsMax: must be seconds (or like 500ms, 2min), 0.001 to 86400, not NaN'],
  ],
  [
    'no time at all',
    { options: { worker: { runSecondsMax: 0 } } },
    ['options: worker.runSecondsMax: must be seconds (or like 500ms, 2min), 0.001 to 86400, not 0'],
  ],
  [
    'text for a boolean',
    { environment: { MILLRACE_SHARED_MEMORY: 'maybe' } },
    ['MILLRACE_SHARED_MEMORY: worker.sharedMemory: must be true or false, not "maybe"'],
  ],
  [
    'a number for a boolean',
    { yaml: 'log:\n  requests: 2\n' },
    ['etc/m.yaml:2: log.requests: must be true or false, not 2'],
  ],
  [
    'an inherited property name for a boolean',
    { environment: { MILLRACE_LOG_REQUESTS: 'toString' } },
    ['MILLRACE_LOG_REQUESTS: log.requests: must be true or false, not "toString"'],
  ],
  [
    'an unknown choice',
    { environment: { MILLRACE_LOG_LEVEL: 'loud' } },
    ['MILLRACE_LOG_LEVEL: log.level: must be one of trace, debug, info, warn, error, silent, not "loud"'],
  ],
  [
    'a choice in capitals',
    { flags: [flag('log-format', 'JSON')] },
    ['--log-format: log.format: must be one of auto, json, pretty, not "JSON"'],
  ],
  [
    'a lane that does not exist',
    { yaml: 'worker:\n  lane: zeromq\n' },
    ['etc/m.yaml:2: worker.lane: must be one of local, inline, not "zeromq"'],
  ],
  [
    'threads that are neither',
    { flags: [flag('worker-threads', 'all')] },
    ['--worker-threads: worker.threads: must be `auto` or a whole number, 1 to 1024, not "all"'],
  ],
  [
    'no threads',
    { flags: [flag('worker-threads', '0')] },
    ['--worker-threads: worker.threads: must be `auto` or a whole number, 1 to 1024, not "0"'],
  ],
  [
    'an id with a space',
    { flags: [flag('id', 'my server')] },
    ['--id: server.id: must be 1 to 64 letters, digits, dots, dashes or underscores, not "my server"'],
  ],
  [
    'an id too long',
    { options: { server: { id: 'x'.repeat(65) } } },
    [`options: server.id: must be 1 to 64 letters, digits, dots, dashes or underscores, not "${'x'.repeat(59)}…`],
  ],
  ...['http://localhost', '[::1]', '127.0.0.1:80', '256.0.0.1', 'a b', '', '-a', '*'].map(
    (host): [string, Sources, string[]] => [
      `the host ${JSON.stringify(host)}`,
      { flags: [flag('host', host)] },
      [
        `--host: server.host: must be an IP address or a host name without scheme, brackets or port, not ${JSON.stringify(host)}`,
      ],
    ],
  ),
  [
    'a host that is a number',
    { yaml: 'server:\n  host: 5\n' },
    ['etc/m.yaml:2: server.host: must be an IP address or a host name without scheme, brackets or port, not 5'],
  ],
  [
    'a path that is a number',
    { yaml: 'models:\n  paths: [a, 5]\n' },
    ['etc/m.yaml:2: models.paths: must be a path or a list of paths, not 5'],
  ],
  [
    'an empty path',
    { flags: [flag('models', [''])] },
    ['--models: models.paths: must be a path or a list of paths, not ""'],
  ],
  [
    'an unknown variable',
    { environment: { MILLRACE_HTTP_PROT: '1' } },
    ['MILLRACE_HTTP_PROT: is not a variable of Millrace. Did you mean MILLRACE_HTTP_PORT?'],
  ],
  [
    'a variable from nowhere',
    { environment: { MILLRACE_ZEBRA: '1' } },
    ['MILLRACE_ZEBRA: is not a variable of Millrace.'],
  ],
  [
    'an unknown option',
    { options: { server: { httpPrt: 1 } } as Options },
    ['options: server.httpPrt: is not a field. Did you mean server.httpPort?'],
  ],
  [
    'the same port twice',
    { environment: { MILLRACE_METRICS_PORT: '8000' } },
    ['MILLRACE_METRICS_PORT: server.metricsPort: must differ from server.httpPort, which is 8000 too'],
  ],
  [
    'the same port twice, told where the other was written',
    { yaml: 'server:\n  httpPort: 8002\n' },
    ['etc/m.yaml:2: server.metricsPort: must differ from server.httpPort, which is 8002 too'],
  ],
  [
    'the gRPC port twice',
    { flags: [flag('grpc-port', '8002')] },
    ['--grpc-port: server.metricsPort: must differ from server.grpcPort, which is 8002 too'],
  ],
  [
    'a management port that another has',
    { flags: [flag('management-port', '8001')] },
    ['--management-port: management.port: must differ from server.grpcPort, which is 8001 too; or write same'],
  ],
  [
    'a management port that is none',
    { flags: [flag('management-port', 'own')] },
    ['--management-port: management.port: must be `same` or a whole number, 0 to 65535, not "own"'],
  ],
  [
    'a management host without a port of its own',
    { environment: { MILLRACE_MANAGEMENT_HOST: '0.0.0.0' } },
    [
      'MILLRACE_MANAGEMENT_HOST: management.host: has no effect while management.port is same; give management a port of its own',
    ],
  ],
  [
    'a socket for a management that is off',
    { flags: [flag('management', false), flag('management-socket', '/run/m.sock')] },
    ['--management-socket: management.socket: has no effect: management.enabled is false'],
  ],
  [
    'a socket and a port for management',
    { flags: [flag('management-port', '9000'), flag('management-socket', '/run/m.sock')] },
    ['--management-socket: management.socket: and management.port exclude each other; give one of them'],
  ],
  [
    'a socket whose path no system takes',
    { flags: [flag('management-socket', `/${'x'.repeat(92)}`)] },
    ['--management-socket: management.socket: must have at most 92 bytes as a full path, not 93'],
  ],
  [
    'a management port on the network that nobody asked for',
    { flags: [flag('management-port', '9000'), flag('management-host', '0.0.0.0')] },
    [
      '--management-host: management.host: is not a loopback address: set management.enabled to true to serve management there',
    ],
  ],
  [
    'management that is neither on nor off',
    { yaml: 'management:\n  enabled: maybe\n' },
    ['etc/m.yaml:2: management.enabled: must be auto, true or false, not "maybe"'],
  ],
  [
    'a host with a port',
    { flags: [flag('allowed-hosts', 'gpu-1:8000')] },
    [
      '--allowed-hosts: server.allowedHosts: must be host names, addresses or `*.example.com`, without port, between commas, or `*`, not "gpu-1:8000"',
    ],
  ],
  [
    'a port for a management that is off',
    { flags: [flag('management', false), flag('management-port', '9000')] },
    ['--management-port: management.port: has no effect: management.enabled is false'],
  ],
  [
    'a model to load at the start where the repository decides',
    { flags: [flag('load-model', 'mlp'), flag('model-control-mode', 'poll')] },
    ['--load-model: models.load: has no effect while models.controlMode is poll; set that to explicit'],
  ],
  [
    'a group of workers without a user',
    { flags: [flag('worker-group', 'models')] },
    ['--worker-group: worker.group: has no effect without worker.user'],
  ],
  [
    'a user for models that run in the server',
    { flags: [flag('worker-user', 'nobody'), flag('lane', 'inline')] },
    ['--worker-user: worker.user: has no effect on models in the server process; worker.lane must be local'],
  ],
  [
    'settings of workers that are not started here',
    {
      flags: [
        flag('worker-socket', '/run/w'),
        flag('worker-user', 'nobody'),
        flag('shared-memory', 'true'),
        flag('model-memory-budget', '1GiB'),
      ],
    },
    [
      '--worker-user: worker.user: has no effect on the workers of worker.sockets; start them as that user',
      '--shared-memory: worker.sharedMemory: has no effect with worker.sockets: no memory is shared with those workers',
      '--model-memory-budget: models.memoryBudget: cannot be kept with worker.sockets: other servers may use the memory of those workers',
    ],
  ],
  [
    'sockets of workers for models that run in the server',
    { flags: [flag('worker-socket', '/run/w'), flag('lane', 'inline')] },
    ['--worker-socket: worker.sockets: has no effect while worker.lane is inline; remove one of them'],
  ],
  [
    'a socket whose path is too long',
    { flags: [flag('worker-socket', `/run/${'w'.repeat(103)}`)] },
    ['--worker-socket: worker.sockets: must have at most 107 bytes each as full paths, not 108'],
  ],
  [
    'a user that cannot be one',
    { flags: [flag('worker-user', 'no body')] },
    ['--worker-user: worker.user: must be a name or number, or nothing, not "no body"'],
  ],
  [
    'an origin that is none',
    { flags: [flag('cors-origins', 'https://a.example, b.example')] },
    [
      '--cors-origins: http.corsOrigins: must be origins like https://app.example between commas, or *, not " b.example"',
    ],
  ],
  ['any free port twice', { flags: [flag('http-port', '0'), flag('metrics-port', '0')] }, []],
  [
    'a JSON part above the whole',
    { yaml: 'http:\n  bodyBytesMax: 1MiB\n' },
    [
      'etc/m.yaml:2: http.jsonBytesMax: must not be above http.bodyBytesMax, which includes it; lower it or raise the other',
    ],
  ],
  [
    'an invalid value that a later layer overrides',
    { yaml: 'server:\n  httpPort: x\n', flags: [flag('http-port', '1')] },
    [`etc/m.yaml:2: server.httpPort: ${wholePort}, not "x"`],
  ],
  [
    'a folder that is not there',
    {
      yaml: 'models:\n  paths: [good, bad]\n',
      pathProblem: (path) => (path.endsWith('bad') ? `${path} does not exist` : undefined),
    },
    ['etc/m.yaml:2: models.paths: /home/me/etc/bad does not exist'],
  ],
  [
    'several at once, in every layer',
    {
      options: { log: { level: 'x' } } as unknown as Options,
      yaml: 'server:\n  httpPort: x\nzzz: 1\n',
      environment: { MILLRACE_ID: '?' },
      flags: [flag('lane', 'x')],
    },
    [
      'options: log.level: must be one of trace, debug, info, warn, error, silent, not "x"',
      'etc/m.yaml:3: zzz: is not a group of fields.',
      `etc/m.yaml:2: server.httpPort: ${wholePort}, not "x"`,
      'MILLRACE_ID: server.id: must be 1 to 64 letters, digits, dots, dashes or underscores, not "?"',
      '--lane: worker.lane: must be one of local, inline, not "x"',
    ],
  ],
])('%s is reported', (_title, sources, problems) => {
  expect(problemsOf(sources)).toEqual(problems);
});

test('a file of aliases of aliases is refused, not expanded', () => {
  const levels = Array.from({ length: 12 }, (_, level) => {
    const value =
      level === 0
        ? '["x","x","x","x","x","x","x","x","x"]'
        : `[${Array(9)
            .fill(`*a${level - 1}`)
            .join(',')}]`;
    return `  k${level}: &a${level} ${value}`;
  });
  const problems = problemsOf({ yaml: `server:\n${levels.join('\n')}\n  id: *a11\n` });
  expect(problems.at(-1)).toMatch(/server\.id: .*(alias|must be)/i);
});

test.each(['::1', '0.0.0.0', '::', 'localhost', 'a.example.com', 'node-1'])('%s is a host', (host) => {
  expect(resolve({ flags: [flag('host', host)] }).server.host).toBe(host);
});

test('flags and variables are unique, and the variable is the flag in capitals', () => {
  const flags = configFields.map(({ field }) => field.flag);
  expect(new Set(flags).size).toBe(flags.length);
  for (const { variable, field } of configFields) {
    expect(variable).toBe(`MILLRACE_${field.flag.toUpperCase().replaceAll('-', '_')}`);
    expect(field.flag).toMatch(/^[a-z]+(-[a-z]+)*$/);
    expect(field.flag.startsWith('no-')).toBe(false);
    expect(field.description).toMatch(/\.$/);
  }
});

test('names of models come by repeated flags, a list, or between commas, and none of them is blank', () => {
  const load = (written: unknown) =>
    resolveConfig({ options: { models: { load: written as readonly string[], controlMode: 'explicit' } }, cwd: '/' })
      .models.load;
  expect(load(['a', 'b'])).toEqual(['a', 'b']);
  expect(load('a, b')).toEqual(['a', 'b']);
  expect(() => load(['a', ''])).toThrow('must be a name or a list of names');
  expect(() => load([7])).toThrow('must be a name or a list of names');
  const mode = flag('model-control-mode', 'explicit');
  const flags = [mode, flag('load-model', 'a'), flag('load-model', 'b'), flag('load-model', 'c,d')];
  expect(resolve({ flags }).models.load).toEqual(['a', 'b', 'c', 'd']);
  expect(resolve({ yaml: 'models:\n  load: [x]\n', flags }).models.load).toEqual(['a', 'b', 'c', 'd']);
});
