import { mkdir, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { field, modelBytes } from '@millrace/onnx/testing';
import { type ConfigProblem, formatConfigProblem } from '@millrace/protocol';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { failureReason } from '../model/failure-reason.ts';
import { configBytesMax } from './config-text/read-model-config.ts';
import { labelFileBytesMax } from './label-file.ts';
import { scanRepository } from './repository.ts';
import { TestRepository } from './testing/test-repository.ts';

let repository: TestRepository;
beforeEach(async () => {
  repository = await TestRepository.create();
});
afterEach(() => repository.remove());

const scan = () => scanRepository([repository.path]);
const model = modelBytes();

describe('a repository', () => {
  test('serves its models by name, with what each needs', async () => {
    await repository.write('b/1/model.onnx', model);
    await repository.write('a/3/model.onnx', model);
    const result = await scan();
    expect(result).toMatchObject({ failures: [], problems: [], warnings: [] });
    expect(result.models.map(({ name, versions }) => [name, versions.map(({ version }) => version)])).toEqual([
      ['a', ['3']],
      ['b', ['1']],
    ]);
    expect(result.models[0]).toMatchObject({
      path: join(repository.path, 'a'),
      lane: 'local',
      workerGroup: 'model/a',
      isGroupShared: false,
      instanceCount: 1,
      threads: 0,
      isSpinning: false,
    });
    expect(result.models[0]?.versions[0]).toMatchObject({
      path: join(repository.path, 'a/3/model.onnx'),
      policy: { rowsMax: 64, queueRequestsMax: 4096, queueBytesMax: 268435456, runMsMax: 60000 },
    });
  });

  test('may be several, and a name in two of them is served from neither', async () => {
    await repository.write('one/same/1/model.onnx', model);
    await repository.write('one/first/1/model.onnx', model);
    await repository.write('two/same/1/model.onnx', model);
    const result = await scanRepository([join(repository.path, 'one'), join(repository.path, 'two')]);
    expect(result.models.map(({ name }) => name)).toEqual(['first']);
    expect(result.failures.map(({ name }) => name)).toEqual(['same']);
    expect(result.failures.map(failureReason)[0]).toMatch(/"same" is used by several models \(.*one.*two.*\); rename/);
  });

  test('given twice, also by a link, is one', async () => {
    await repository.write('real/a/1/model.onnx', model);
    await symlink(join(repository.path, 'real'), join(repository.path, 'link'));
    const result = await scanRepository([join(repository.path, 'real'), join(repository.path, 'link')]);
    expect(result.models).toHaveLength(1);
    expect(result.failures).toEqual([]);
  });

  test('that does not exist, or is not a folder, is a problem of the path', async () => {
    const file = await repository.write('notes.txt', 'x');
    const result = await scanRepository([join(repository.path, 'nowhere'), file]);
    expect(result.problems.map(({ source, message }) => [source, message])).toEqual([
      [join(repository.path, 'nowhere'), 'does not exist; give a folder of models or a .onnx file'],
      [file, 'is neither a folder of models nor a .onnx file'],
    ]);
  });

  test('without models says how to put one there', async () => {
    expect((await scan()).warnings[0]?.message).toBe('holds no models; put one at NAME/1/model.onnx or NAME.onnx');
  });

  test('that is a model itself says so', async () => {
    await repository.write('a/1/model.onnx', model);
    const byVersion = await scanRepository([join(repository.path, 'a')]);
    await repository.write('a/config.pbtxt', '');
    const byConfig = await scanRepository([join(repository.path, 'a')]);
    for (const { problems } of [byVersion, byConfig]) {
      expect(problems[0]?.message).toMatch(/is a model, not a folder of models; give the folder above it/);
    }
  });

  test('leaves out what is not a model, and says so where it may be a mistake', async () => {
    await repository.write('README.md', '');
    await repository.write('.git/config', '');
    await repository.write('docs/page.md', '');
    await repository.write('weights.onnx.part', model);
    await repository.folder('empty');
    await repository.write('a/1/model.onnx', model);
    const result = await scan();
    expect(result.failures).toEqual([]);
    expect(result.warnings.map(({ source, message }) => `${source.slice(repository.path.length)} ${message}`)).toEqual([
      '/docs is not a model and is ignored; put a model at NAME/1/model.onnx or NAME.onnx',
      '/empty is not a model and is ignored; put a model at NAME/1/model.onnx or NAME.onnx',
    ]);
  });

  test('serves files by their names beside folders, as version 1', async () => {
    await repository.write('b.onnx', model);
    await repository.write('a/3/model.onnx', model);
    await repository.write('b.labels.txt', '');
    const result = await scan();
    expect(result).toMatchObject({ failures: [], problems: [], warnings: [] });
    expect(result.models.map(({ name, versions }) => [name, versions[0]?.version, versions[0]?.path])).toEqual([
      ['a', '3', join(repository.path, 'a/3/model.onnx')],
      ['b', '1', join(repository.path, 'b.onnx')],
    ]);
  });

  test('serves neither a file nor a folder of one name, and no file whose name cannot be a model', async () => {
    await repository.write('a.onnx', model);
    await repository.write('a/1/model.onnx', model);
    await repository.write(' .onnx', model);
    await repository.write('good.onnx', model);
    const result = await scan();
    expect(result.models.map(({ name }) => name)).toEqual(['good']);
    expect(result.failures.map(failureReason)).toEqual([
      expect.stringMatching(/ \.onnx: the model is named after its file: a model name must not be blank/),
      expect.stringMatching(/"a" is used by several models \(.*\/a, .*\/a\.onnx\); rename all but one/),
    ]);
  });

  test('given beside one of its files serves that file once', async () => {
    const file = await repository.write('a.onnx', model);
    const result = await scanRepository([repository.path, file]);
    expect(result.models.map(({ name }) => name)).toEqual(['a']);
    expect(result.failures).toEqual([]);
  });

  test('serves files that keep their weights beside them', async () => {
    const entry = (key: string, value: string) => field(13, [field(1, key), field(2, value)]);
    const external = modelBytes({
      graphFields: [field(5, [field(8, 'w'), entry('location', 'b.onnx.data'), field(14, 1)])],
    });
    await repository.write('b.onnx', external);
    await repository.write('b.onnx.data', 'weights');
    const result = await scan();
    expect(result).toMatchObject({ failures: [], warnings: [] });
    expect(result.models[0]?.versions[0]?.externalPaths).toEqual([join(repository.path, 'b.onnx.data')]);
  });

  test('may link to models elsewhere; a broken link or a link to itself is a failure with its reason', async () => {
    await repository.write('elsewhere/linked/1/model.onnx', model);
    const folder = await repository.folder('repository');
    await symlink(join(repository.path, 'elsewhere/linked'), join(folder, 'linked'));
    await symlink(join(repository.path, 'gone'), join(folder, 'broken'));
    await symlink(join(folder, 'loop'), join(folder, 'loop'));
    await mkdir(join(folder, 'half'));
    await symlink(join(repository.path, 'gone'), join(folder, 'half/1'));
    const result = await scanRepository([folder]);
    expect(result.models.map(({ name }) => name)).toEqual(['linked']);
    expect(result.failures.map(({ name, problems }) => [name, problems[0]?.message])).toEqual([
      ['broken', 'does not exist'],
      ['half', 'does not exist'],
      ['loop', 'is a symbolic link that leads back to itself; remove or correct it'],
    ]);
  });

  test.each([
    ['a:b', /must not contain ":"/],
    ['a@b', /must not contain "@"/],
    ['50%', /must not contain "%"/],
    ['a?b', /must not contain "\?"/],
    ['a\nb', /must not contain "\\n"/],
    [' a', /must not be blank or begin or end with white space/],
    ['x'.repeat(129), /at most 128 characters, this one has 129/],
  ])('refuses the model name %j', async (name, message) => {
    await repository.write(`${name}/1/model.onnx`, model);
    const result = await scan();
    expect(result.models).toEqual([]);
    expect(result.failures[0]?.problems[0]?.message).toMatch(message);
  });

  test.each(['modèle', '日本語', 'a b', 'a.b-c_d+e', 'x'.repeat(128)])('takes the model name %j', async (name) => {
    await repository.write(`${name}/1/model.onnx`, model);
    expect((await scan()).models.map((definition) => definition.name)).toEqual([name]);
  });

  test('warns of a name that the protocol uses itself', async () => {
    await repository.write('stats/1/model.onnx', model);
    expect((await scan()).warnings[0]?.message).toMatch(/statistics of all models; rename/);
  });
});

describe('a single file', () => {
  test('is a model named after it, version 1', async () => {
    const path = await repository.write('my-model.onnx', model);
    const { models } = await scanRepository([path]);
    expect(models[0]).toMatchObject({ name: 'my-model', path, versions: [{ version: '1', path }] });
  });

  test('may be a folder of that name', async () => {
    await repository.write('net.onnx/model.onnx', model);
    const { models } = await scanRepository([join(repository.path, 'net.onnx')]);
    expect(models[0]?.versions[0]?.path).toBe(join(repository.path, 'net.onnx/model.onnx'));
  });

  test('that is broken is a failure with the file', async () => {
    const path = await repository.write('cut.onnx', model.subarray(0, 40));
    const { failures } = await scanRepository([path]);
    expect(failures[0]).toMatchObject({ name: 'cut', version: '1', problems: [{ source: path }] });
    expect(failures[0]?.problems[0]?.message).toMatch(/cannot be read: .*truncated or damaged/);
  });

  test('with a name that cannot be served is a problem', async () => {
    const path = await repository.write('a:b.onnx', model);
    expect((await scanRepository([path])).problems[0]?.message).toMatch(/named after its file: .*":"/);
  });
});

describe('versions', () => {
  const versions = async (config: string) => {
    for (const version of ['1', '2', '10', '07', '0', 'old', '3.5'])
      await repository.write(`m/${version}/model.onnx`, model);
    await repository.write('m/5', 'a file');
    await repository.write('m/config.pbtxt', config);
    const result = await scan();
    return {
      served: result.models[0]?.versions.map(({ version }) => version) ?? [],
      failures: result.failures.map(({ version, problems }) => [version, problems[0]?.line, problems[0]?.message]),
      warnings: result.warnings,
    };
  };

  test('are folders named by whole numbers; the highest is served', async () => {
    expect(await versions('')).toMatchObject({ served: ['10'], failures: [] });
  });
  test('may be the latest few, in the order of their numbers', async () => {
    expect((await versions('version_policy { latest { num_versions: 2 } }')).served).toEqual(['2', '10']);
  });
  test('may be all', async () => {
    expect((await versions('version_policy { all { } }')).served).toEqual(['1', '2', '10']);
  });
  test('Triton: a named version that is absent is reported, and the others are served', async () => {
    const { served, failures, warnings } = await versions('\nversion_policy { specific { versions: [ 2, 7, 1, 2 ] } }');
    expect(served).toEqual(['1', '2']);
    expect(failures).toEqual([]);
    expect(warnings).toContainEqual(
      expect.objectContaining({ line: 2, message: expect.stringMatching(/^names version 7, but there is no folder/) }),
    );
  });
  test('Triton: a model of whose named versions none exists fails, with those that exist', async () => {
    const { served, failures } = await versions('version_policy { specific { versions: [ 8, 7 ] } }');
    expect(served).toEqual([]);
    expect(failures).toEqual([['', 1, 'names 7, 8, but none of them exists; the version folders are 1, 2, 10']]);
  });
  test.each([
    ['version_policy { specific { } }', /names no version; write versions: \[ 1 \]/],
    ['version_policy { specific { versions: [ 0, -1 ] } }', /0, -1: versions are numbered from 1/],
    ['version_policy { latest { } }', /must be at least 1/],
  ])('cannot be chosen by %j', async (config, message) => {
    const { served, failures } = await versions(config);
    expect(served).toEqual([]);
    expect(failures[0]?.[2]).toMatch(message);
  });

  test('that share a warning give it once', async () => {
    for (const version of ['1', '2']) await repository.write(`m/${version}/model.onnx`, model);
    await repository.write('m/config.pbtxt', 'version_policy { all { } } parameters { key: "other" }');
    const { models, warnings } = await scan();
    expect(models[0]?.versions).toHaveLength(2);
    expect(warnings).toHaveLength(1);
  });

  test('fail one by one: the sound ones serve', async () => {
    await repository.write('m/1/model.onnx', model);
    await repository.write('m/2/model.onnx', 'rubbish');
    await repository.write('m/config.pbtxt', 'version_policy { all { } }');
    const result = await scan();
    expect(result.models[0]?.versions.map(({ version }) => version)).toEqual(['1']);
    expect(result.failures.map(({ name, version }) => [name, version])).toEqual([['m', '2']]);
  });
});

describe('the model file', () => {
  test('may have another name', async () => {
    await repository.write('m/1/net.onnx', model);
    await repository.write('m/config.pbtxt', 'default_model_filename: "net.onnx"');
    expect((await scan()).models[0]?.versions[0]?.path).toBe(join(repository.path, 'm/1/net.onnx'));
  });

  test('may be a folder that holds it beside its weights', async () => {
    const weight = field(5, [field(8, 'w'), field(13, [field(1, 'location'), field(2, 'w.bin')])]);
    await repository.write('m/1/model.onnx/model.onnx', modelBytes({ graphFields: [weight] }));
    await repository.write('m/1/model.onnx/w.bin', 'weights');
    expect((await scan()).models[0]?.versions[0]).toMatchObject({
      path: join(repository.path, 'm/1/model.onnx/model.onnx'),
      externalPaths: [join(repository.path, 'm/1/model.onnx/w.bin')],
    });
  });

  test.each([
    ['gone.bin', /keeps weights in "gone\.bin", which does not exist/],
    ['../../secret', /outside of its own folder/],
    ['/etc/passwd', /outside of its own folder/],
  ])('that keeps weights in %s is refused', async (file, message) => {
    const weight = field(5, [field(8, 'w'), field(13, [field(1, 'location'), field(2, file)])]);
    await repository.write('m/1/model.onnx', modelBytes({ graphFields: [weight] }));
    expect((await scan()).failures[0]?.problems[0]?.message).toMatch(message);
  });

  test.each([
    ['net.onnx', /does not exist; its folder holds net\.onnx: set default_model_filename/],
    [
      'onnx/model.onnx',
      /does not exist; its folder holds onnx: move onnx\/model\.onnx here, with the files of its weights/,
    ],
    ['model.pt', /does not exist; its folder holds model\.pt: only ONNX models are served yet/],
  ])('that is missing while %s is there gets advice', async (file, message) => {
    await repository.write(`m/1/${file}`, model);
    expect((await scan()).failures[0]?.problems[0]?.message).toMatch(message);
  });

  test('that is missing in an empty version folder is reported', async () => {
    await repository.folder('m/1');
    expect((await scan()).failures[0]).toMatchObject({
      name: 'm',
      version: '1',
      problems: [{ message: 'does not exist' }],
    });
  });

  test('a model without any version is reported', async () => {
    await repository.write('m/config.pbtxt', 'name: "m"');
    expect((await scan()).failures[0]?.problems[0]?.message).toMatch(/no version of m can be served; put one at m\/1/);
  });
});

describe('the configuration file', () => {
  test('that is a folder, a broken link or far too large is a failure with its reason', async () => {
    for (const name of ['folder', 'linked', 'large']) await repository.write(`${name}/1/model.onnx`, model);
    await repository.folder('folder/config.pbtxt');
    await symlink(join(repository.path, 'gone'), join(repository.path, 'linked/config.pbtxt'));
    await repository.write('large/config.pbtxt', new Uint8Array(configBytesMax + 1));
    const { models, failures } = await scan();
    expect(models).toEqual([]);
    expect(failures.map(({ name, problems }) => [name, problems[0]?.message])).toEqual([
      ['folder', 'is a folder, not a file'],
      ['large', expect.stringMatching(/1048577 bytes, more than 1048576/)],
      ['linked', 'does not exist'],
    ]);
  });
});

describe('labels', () => {
  const withLabels = async (labels: string | Uint8Array | undefined, filename = 'labels.txt') => {
    await repository.write('m/1/model.onnx', model);
    if (labels !== undefined) await repository.write('m/labels.txt', labels);
    await repository.write(
      'm/config.pbtxt',
      `output { name: "y" data_type: TYPE_FP32 dims: [ 4 ]\n label_filename: "${filename}" }`,
    );
    const result = await scan();
    return { labels: result.models[0]?.versions[0]?.view.labels.get('y'), problem: result.failures[0]?.problems[0] };
  };

  test.each([
    ['cat\ndog\n', ['cat', 'dog']],
    ['cat\r\ndog', ['cat', 'dog']],
    ['\ufeffcat\n\nbird\n', ['cat', '', 'bird']],
    ['', []],
  ])('are the lines of %j', async (text, labels) => {
    expect((await withLabels(text)).labels).toEqual(labels);
  });

  test.each([
    ['a file that is missing', undefined, 'labels.txt', /labels\.txt does not exist/],
    ['a file outside the folder', 'x', '../labels.txt', /must be inside the model's folder/],
    ['an absolute path', 'x', '/etc/passwd', /must be inside/],
    ['a folder', 'x', '1', /1 is not a regular file/],
    ['a file that is not text', Uint8Array.of(0xff, 0xfe), 'labels.txt', /is not UTF-8 text/],
    [
      'a file that is too large',
      new Uint8Array(labelFileBytesMax + 1),
      'labels.txt',
      /more than 16777216; is it really a list of labels\?/,
    ],
    ['a file of too many labels', '\n'.repeat(1_000_001), 'labels.txt', /has 1000001 labels, more than 1000000/],
  ])('%s is refused with the line that names it', async (_, labels, filename, message) => {
    const { problem } = await withLabels(labels, filename);
    expect(problem).toMatchObject({ line: 2, field: 'output[0].label_filename' });
    expect(problem?.message).toMatch(message);
  });
});

describe('a scan of many things', () => {
  test('gives what can be served, and says of the rest what is wrong and what to do', async () => {
    await repository.write('good/1/model.onnx', model);
    await repository.write('bad/1/model.onnx', model);
    await repository.write('bad/config.pbtxt', '\nmax_batchsize: 4\nbackend: "python"');
    await repository.folder('empty');
    const result = await scanRepository([repository.path, '/nowhere/at/all']);
    const textsOf = (problems: readonly ConfigProblem[]) =>
      problems.map((problem) => formatConfigProblem(problem).replaceAll(repository.path, ''));
    expect(result.models.map(({ name }) => name)).toEqual(['good']);
    expect(result.failures.map(({ name, problems }) => [name, ...textsOf(problems)])).toEqual([
      [
        'bad',
        '/bad/config.pbtxt:2: max_batchsize: there is no such field (did you mean max_batch_size?)',
        '/bad/config.pbtxt:3: backend: "python" is not supported yet; only onnxruntime, pipeline and generator are',
      ],
    ]);
    expect(textsOf(result.problems)).toEqual([
      '/nowhere/at/all: does not exist; give a folder of models or a .onnx file',
    ]);
    expect(textsOf(result.warnings)).toEqual([
      '/empty: is not a model and is ignored; put a model at NAME/1/model.onnx or NAME.onnx',
    ]);
  });
});
