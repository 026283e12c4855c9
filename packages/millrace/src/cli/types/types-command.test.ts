import { afterAll, beforeAll, expect, test } from 'vitest';
import { type HttpDouble, startHttpDouble } from '../../testing/http-double.ts';
import { runArguments } from '../../testing/run-arguments.ts';
import { modelTypesText } from './model-types-text.ts';

let server: HttpDouble;
let index: unknown = [];
const run = (args: readonly string[]) => runArguments({ args, cwd: '.' });

beforeAll(async () => {
  server = await startHttpDouble((request, _body, response) => {
    const model = /^\/v2\/models\/(.+)$/.exec(request.url ?? '')?.[1];
    if (model === 'add/config') {
      const input = [{ name: 'a' }, { name: 'b-side', optional: true }, { name: 'no tensor', optional: true }];
      response.end(JSON.stringify({ name: 'add', input }));
    } else if (request.url === '/v2/repository/index') response.end(JSON.stringify(index));
    else if (model === 'add' || model === 'odd%20name') {
      const tensor = (name: string) => ({ name, datatype: 'FP32', shape: [-1, 4] });
      const inputs = [tensor('a'), { name: 'b-side', datatype: 'BYTES', shape: [] }];
      response.end(JSON.stringify({ name: 'add', inputs, outputs: [tensor('sum')] }));
    } else {
      response.statusCode = 404;
      response.end('{"error":"Request for unknown model"}');
    }
  });
});
afterAll(() => server.close());

const add = `  readonly add: {
    readonly inputs: {
      readonly a: { readonly datatype: 'FP32'; readonly shape: readonly [-1, 4] };
      readonly "b-side"?: { readonly datatype: 'BYTES'; readonly shape: readonly [] };
    };
    readonly outputs: {
      readonly sum: { readonly datatype: 'FP32'; readonly shape: readonly [-1, 4] };
    };
  };
`;

test('prints every model that is ready once, sorted by name', async () => {
  index = [
    { name: 'odd name', version: '1' },
    { name: 'add', version: '1' },
    { name: 'add', version: '2' },
  ];
  const { code, stdout } = await run(['types', server.url]);
  expect(code).toBe(0);
  // Its server does not tell its configuration.
  const odd = add.replace('readonly add:', 'readonly "odd name":').replace('"b-side"?:', '"b-side":');
  expect(stdout).toBe(
    `/** Made by \`millrace types\`; make it again when the models change. */\nexport interface Models {\n${add}${odd}}\n`,
  );
});

test('prints the models that were chosen, without asking for a list', async () => {
  index = 'no list';
  const { code, stdout } = await run(['types', server.url, '--model', 'add']);
  expect([code, stdout.includes(add)]).toEqual([0, true]);
});

test('what fails is said, and nothing is printed', async () => {
  index = [];
  expect(await run(['types', server.url])).toMatchObject({
    code: 1,
    stdout: '',
    stderr: `millrace: ${server.url} serves no model that is ready\n`,
  });
  const unknown = await run(['types', server.url, '--model', 'nobody']);
  expect(unknown).toMatchObject({
    code: 1,
    stdout: '',
    stderr: 'millrace: the server answered 404: Request for unknown model\n',
  });
  const wrong = await run(['types', 'localhost:8000']);
  expect(wrong).toMatchObject({ code: 2, stdout: '' });
  expect(wrong.stderr).toBe('millrace types: must be like http://127.0.0.1:8000, not "localhost:8000"\n');
  index = 'no list';
  expect((await run(['types', server.url])).stderr).toContain('cannot read');
});

test('a name stays inside its quotes, whatever it contains', () => {
  const text = modelTypesText([
    { name: 'a": never }\n*/ declare const x: 1 //', optionalInputs: new Set(), inputs: [], outputs: [] },
  ]);
  expect(text.split('\n')).toHaveLength(8);
  expect(text).toContain('  readonly "a\\": never }\\n*/ declare const x: 1 //": {\n');
});
