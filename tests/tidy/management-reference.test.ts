import type { Management } from '@millrace/router';
import { createManagementEdge, managementLimits, openApiDocument, type Route } from '@millrace/router/internal';
import { expect, test } from 'vitest';

/** Nothing is called: only what the faces declare is read. */
const edge = createManagementEdge({ management: {} as Management });
const { methods } = edge.service.service;

interface Schema {
  readonly type?: string;
  readonly $ref?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly items?: Schema;
  readonly enum?: readonly string[];
  readonly additionalProperties?: Schema | boolean;
  readonly anyOf?: readonly Schema[];
}

const { components, paths } = openApiDocument({ title: '', version: '' }, edge.routes);
const schemas = components.schemas as Readonly<Record<string, Schema>>;

interface Body {
  readonly content?: Readonly<Record<string, { readonly schema: Schema }>>;
}

interface Operation {
  readonly requestBody?: Body;
  /** By status. */
  readonly responses: { readonly 200?: Body };
}

function operationOf({ method, path }: Route): Operation {
  return (paths[path] as Readonly<Record<string, Operation>>)[method.toLowerCase()] as Operation;
}

function typeOf(schema: Schema): string {
  if (schema.$ref !== undefined) return `[${nameOf(schema.$ref)}](#${nameOf(schema.$ref).toLowerCase()})`;
  if (schema.enum !== undefined) return schema.enum.map((value) => `\`${value}\``).join(', ');
  if (schema.anyOf !== undefined) return schema.anyOf.map(typeOf).join(' or ');
  if (schema.type === 'array') return `list of ${typeOf(schema.items ?? {})}`;
  if (schema.type === 'object' && typeof schema.additionalProperties === 'object') {
    const value = typeOf(schema.additionalProperties);
    return value === 'anything' ? 'object' : `object of ${value}`;
  }
  return schema.type ?? 'anything';
}

const nameOf = (reference: string): string => reference.split('/').at(-1) as string;

/** The fields of an object, those of the objects in its lists with dots before them. */
function rowsOf(schema: Schema, prefix = ''): string[] {
  const required = new Set(schema.required ?? []);
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const inner = field.items?.properties === undefined ? [] : rowsOf(field.items, `${prefix}${name}[].`);
    const type = inner.length > 0 ? 'list' : typeOf(field);
    const presence = required.has(name) ? '' : 'may be absent';
    return [`| \`${prefix}${name}\` | ${type} | ${presence} | ${field.description ?? ''} |`, ...inner];
  });
}

function bodyText(body: Body | undefined): string {
  const schema = body?.content?.['application/json']?.schema;
  if (schema === undefined) return '-';
  if (schema.$ref !== undefined) return typeOf(schema);
  const fields = Object.entries(schema.properties ?? {}).map(([name, field]) => `\`${name}\`: ${typeOf(field)}`);
  return fields.join(', ');
}

function routeRow(route: Route): string {
  const { requestBody, responses } = operationOf(route);
  const call = `\`${route.method} ${route.path.replace('/v1/management', '…')}\``;
  const answer = responses[200] === undefined ? '204' : bodyText(responses[200]);
  return `| ${call} | ${route.summary}. | ${bodyText(requestBody)} | ${answer} |`;
}

const reference = [
  '# Management',
  '',
  '<!-- Made from the routes in packages/router/src/edges/management by `npm run reference`; a test keeps both equal. -->',
  '',
  'What an operator may see and change of a running server: by REST below `/v1/management`, by gRPC as',
  '`millrace.v1.Management` ([proto/millrace/v1/management.proto](../../proto/millrace/v1/management.proto)), and from the',
  'shell as `millrace models …` and `millrace streams …`. The three are faces of one set of operations: each refusal has the same code and message.',
  'Loads, unloads and the index are also there as Triton writes them, for its clients: `/v2/repository/…` and the',
  '`Repository…` methods of `inference.GRPCInferenceService`.',
  '',
  'Loads and unloads need `models.controlMode: explicit`; in the other modes the repository decides, and they are refused as',
  '`load-not-allowed`. Labels, splits, shadows, loads and pins are kept where `store.path` says, and survive a restart there; without it they survive',
  'the replacement of the router by its supervisor, and go with the supervisor.',
  'Statistics (`/v2/models/stats`, `ModelStatistics`) are no part of it: they are with the inference API always.',
  '',
  'All of it is on the ports of the inference API while these listen on a loopback address. On any other address it is off',
  'unless `management.enabled: true` asks for it. `management.port` gives it a port of its own and `management.socket` a',
  'Unix socket that only the server’s user may open (`curl --unix-socket PATH http://localhost/v1/management/contexts`,',
  '`millrace models list --url unix:PATH`); then it is there and nowhere else. A call where it is not served is answered',
  '`not-found` with the setting that switches it on. Whoever reaches it may use it; web pages of other origins may not,',
  'whatever `http.corsOrigins` says. A load may bring models and weights, but no code: pipelines and libraries are refused',
  'as `forbidden` unless `models.allowUploadedCode` is set. [access.md](../operating/access.md) has the rules.',
  '',
  '## REST',
  '',
  '`…` stands for `/v1/management`. Bodies are JSON; a field that is not listed is refused by its name. Errors are those of',
  '[errors.md](errors.md), with the code in `millrace-error-code`. The same is in `/openapi.json`.',
  '',
  '| call | what it does | body | answer |',
  '|---|---|---|---|',
  ...edge.routes.map(routeRow),
  '',
  'Traffic has a revision, which is also its `etag`. A change with `If-Match: "3"` is refused as `conflict` unless the',
  'revision still is 3, so two who change it at once cannot undo each other unseen.',
  '',
  ...Object.entries(schemas)
    .filter(([name]) => name !== 'Error')
    .flatMap(([name, schema]) => [
      `### ${name}`,
      '',
      '| field | type | | meaning |',
      '|---|---|---|---|',
      ...rowsOf(schema),
      '',
    ]),
  '## gRPC',
  '',
  `\`${edge.service.service.name}\` has these methods, with fields as above in snake case. \`WatchQueues\` is a stream.`,
  '',
  methods.map(({ name }) => `\`${name}\``).join(', '),
  '',
  '`ChangeTraffic` takes `expected_revision` instead of `If-Match`, and `removed_labels` beside `labels`.',
  '',
  '## Bringing files',
  '',
  'A load may bring the model’s configuration, and with it its files, instead of what the repository has. They travel in',
  'one request: `http.bodyBytesMax` bounds it, for REST in base64, which is a third larger and is decoded while nothing else',
  'is. gRPC carries bytes as they are. A large model is better put into the repository and loaded by its name.',
  '',
  '## Limits',
  '',
  '| limit | default | range |',
  '|---|---|---|',
  ...Object.entries(managementLimits).map(
    ([name, rule]) => `| \`${name}\` | ${rule.default} | ${rule.min} to ${rule.max} |`,
  ),
  '',
  '`loadBytesMax` is `http.bodyBytesMax`. A load brings at most 1024 files.',
  '',
].join('\n');

test('docs/reference/management.md says what the routes say', async () => {
  await expect(reference).toMatchFileSnapshot('../../docs/reference/management.md');
});

test('every REST operation has a gRPC method that can do the same, and the other way round', () => {
  const methodOf: Readonly<Record<string, string>> = {
    listContexts: 'ListContexts',
    listModels: 'RepositoryIndex',
    loadModel: 'RepositoryLoad',
    unloadModel: 'RepositoryUnload',
    pinVersion: 'SetPinned',
    unpinVersion: 'SetPinned',
    getTraffic: 'GetTraffic',
    changeTraffic: 'ChangeTraffic',
    setLabel: 'ChangeTraffic',
    removeLabel: 'ChangeTraffic',
    setSplit: 'ChangeTraffic',
    setShadows: 'ChangeTraffic',
    listInstances: 'ListInstances',
    closeBreaker: 'CloseBreaker',
    getQueues: 'GetQueues',
    flushCache: 'FlushCache',
    listStreams: 'ListStreams',
    getStream: 'GetStream',
    cancelStream: 'CancelStream',
    flushModelCache: 'FlushCache',
  };
  expect(edge.routes.map(({ operationId }) => methodOf[operationId])).not.toContain(undefined);
  const streams = methods.filter(({ kind }) => kind !== 'unary').map(({ name }) => name);
  expect(new Set([...Object.values(methodOf), ...streams])).toEqual(new Set(methods.map(({ name }) => name)));
});

test('every operation has a description', () => {
  for (const { summary, operationId } of edge.routes) expect(summary, operationId).toMatch(/^[A-Z].*[^.]$/);
});
