import { expect, test } from 'vitest';
import { terminalOf } from '../terminal.ts';
import { ServerDouble, servedModelStatus } from '../testing/server-double.ts';
import { StartScreen, tensorsText } from './start-screen.ts';

type ControlMode = 'none' | 'poll' | 'explicit';

function screenOf(
  server: ServerDouble,
  environment: Record<string, string> = { NO_COLOR: '1' },
  controlMode: ControlMode = 'none',
) {
  let text = '';
  const write = (more: string): void => {
    text += more;
  };
  const screen = new StartScreen(terminalOf({ write, isTTY: true }, environment), server, {
    paths: ['/models'],
    controlMode,
  });
  return { screen, taken: () => text };
}

test('the screen shows addresses at once, each model when it is ready, and a command to paste at the end', () => {
  const loading = servedModelStatus({ state: 'loading', loadMs: undefined, inputs: [], outputs: [] });
  const server = new ServerDouble([loading, { ...loading, name: 'resnet50' }, { ...loading, name: 'broken' }]);
  const { screen, taken } = screenOf(server);
  screen.begin('0.1.0');
  server.become([servedModelStatus(), { ...loading, name: 'resnet50' }, { ...loading, name: 'broken' }]);
  screen.update();
  screen.update();
  const image = { name: 'image', datatype: 'FP32', shape: [-1, 3, 224, 224] } as const;
  server.become([
    servedModelStatus(),
    servedModelStatus({ name: 'resnet50', loadMs: 12_345, inputs: [image] }),
    servedModelStatus({ name: 'broken', state: 'failed', reason: 'model.onnx is not an ONNX file' }),
  ]);
  screen.update();
  screen.update();
  screen.stopping('SIGINT', 30);
  expect(taken()).toBe(`
  Millrace 0.1.0

  API      http://127.0.0.1:8000
  gRPC     http://127.0.0.1:8001
  Metrics  http://127.0.0.1:8002/metrics

  loading mlp:1, resnet50:1, broken:1

  ✓ mlp:1        210 ms  x FP32[?,4] → y FP32[?,2]
  ✓ resnet50:1  12.35 s  image FP32[?,3,224,224] → y FP32[?,2]
  ✗ broken:1    model.onnx is not an ONNX file

  Try it
  curl -s http://127.0.0.1:8000/v2/models/mlp/infer -d '{"inputs":[{"name":"x","shape":[1,4],"datatype":"FP32","data":[0.5,0.5,0.5,0.5]}]}'

  Ctrl-C stops the server.


  SIGINT: finishing requests in progress, at most 30 s; again to stop at once
`);
});

test('a management port of its own is shown with the others', () => {
  const server = new ServerDouble([servedModelStatus()]);
  server.managementUrl = 'http://127.0.0.1:8003';
  const { screen, taken } = screenOf(server);
  screen.begin('0.1.0');
  expect(taken()).toContain('8002/metrics\n  Manage   http://127.0.0.1:8003\n');
});

test('warnings about parts the network can reach are shown below the addresses', () => {
  const server = new ServerDouble([servedModelStatus()]);
  server.notices = [{ message: 'inference is open to the network', host: '0.0.0.0', advice: 'use a proxy' }];
  const { screen, taken } = screenOf(server);
  screen.begin('0.1.0');
  expect(taken()).toContain('8002/metrics\n\n  ! inference is open to the network (0.0.0.0): use a proxy\n\n');
});

test('a model that fails later, or becomes ready again, is shown again', () => {
  const server = new ServerDouble([servedModelStatus()]);
  const { screen, taken } = screenOf(server);
  screen.begin('0.1.0');
  server.become([servedModelStatus({ state: 'failed', reason: 'its worker died' })]);
  screen.update();
  server.become([servedModelStatus()]);
  screen.update();
  expect(taken().match(/✓ mlp:1/g)).toHaveLength(2);
  expect(taken()).toContain('✗ mlp:1  its worker died');
  expect(taken().match(/Try it/g)).toHaveLength(1);
});

test('without a ready model the screen says so', () => {
  const server = new ServerDouble([servedModelStatus({ state: 'failed', reason: 'no' })]);
  const { screen, taken } = screenOf(server);
  screen.begin('0.1.0');
  expect(taken()).toContain('No model is ready to answer.');
});

test.each([
  ['none', /There are no models in \/models\.\n {2}Put one at NAME\/1\/model\.onnx and restart the server/],
  ['poll', /There are no models in \/models\.\n {2}Put one at NAME\/1\/model\.onnx; it is loaded as soon as/],
  ['explicit', /No model is loaded\.\n {2}Load one with: millrace models load NAME/],
] as const)('without any model the screen says how to add one in the mode %s', (controlMode, text) => {
  const { screen, taken } = screenOf(new ServerDouble([]), undefined, controlMode);
  screen.begin('0.1.0');
  expect(taken()).toMatch(text);
  expect(taken()).toContain('Ctrl-C stops the server.');
});

test('colours are used on a terminal, unless NO_COLOR or TERM=dumb asks for none', () => {
  const server = new ServerDouble([servedModelStatus()]);
  const colourful = (environment: Record<string, string>): boolean => {
    const { screen, taken } = screenOf(server, environment);
    screen.begin('0.1.0');
    return taken().includes('\u001b[');
  };
  expect(colourful({})).toBe(true);
  expect(colourful({ NO_COLOR: '' })).toBe(true);
  expect(colourful({ NO_COLOR: '1' })).toBe(false);
  expect(colourful({ TERM: 'dumb' })).toBe(false);
  expect(terminalOf({ write: () => true }, {}).hasColours).toBe(false);
});

test('a long list of models that are loading is cut short', () => {
  const names = Array.from({ length: 8 }, (_, index) => `m${index}`);
  const server = new ServerDouble(names.map((name) => servedModelStatus({ name, state: 'loading' })));
  const { screen, taken } = screenOf(server);
  screen.begin('0.1.0');
  expect(taken()).toContain('  loading m0:1, m1:1, m2:1, m3:1, m4:1, m5:1 and 2 more\n');
});

test('a long list of tensors is cut short', () => {
  const specs = Array.from(
    { length: 6 },
    (_, index) => ({ name: `t${index}`, datatype: 'INT64', shape: [1] }) as const,
  );
  expect(tensorsText(specs)).toBe('t0 INT64[1], t1 INT64[1], t2 INT64[1], t3 INT64[1] and 2 more');
});
