import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { pathRedactionFor } from './path-redaction.ts';

test.each([
  ['/srv/models/mlp/config.pbtxt:3: input: is missing', 'mlp/config.pbtxt:3: input: is missing'],
  ['Load model from /srv/models/mlp/1/model.onnx failed: no.', 'Load model from mlp/1/model.onnx failed: no.'],
  ['\'/srv/models/a/1\' and "/srv/more (old)/b/1"', '\'a/1\' and "b/1"'],
  ['/srv/models cannot be read', 'models cannot be read'],
  ['file:///srv/models/p/1/pipeline.ts:7', 'p/1/pipeline.ts:7'],
  ['/home/me/one.onnx is not a model', 'one.onnx is not a model'],
  ['Cannot find package of /opt/millrace/dist/hooks.js', 'Cannot find package of …/hooks.js'],
  ['/srv/models-of-others/x/1/model.onnx', '…/model.onnx'],
  ['/data/srv/models/x', '…/x'],
  [
    'see https://example.org/a/b and models/x, either/or, 3/4',
    'see https://example.org/a/b and models/x, either/or, 3/4',
  ],
  ['the model is loading', 'the model is loading'],
])('%j is shown to callers as %j', (text, shown) => {
  expect(pathRedactionFor(['/srv/models', '/srv/more (old)', '/home/me/one.onnx'])(text)).toBe(shown);
});

test('without a repository, files are shown by their names', () => {
  expect(pathRedactionFor([])('/srv/models/x/1/model.onnx is missing')).toBe('…/model.onnx is missing');
});

test('a repository behind a link is redacted under both of its paths', () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'millrace-redaction-')));
  mkdirSync(join(folder, 'real'));
  symlinkSync(join(folder, 'real'), join(folder, 'link'));
  const redactPaths = pathRedactionFor([join(folder, 'link')]);
  expect(redactPaths(`${folder}/link/m/1, ${folder}/real/m/2`)).toBe('m/1, m/2');
  rmSync(folder, { recursive: true });
});
