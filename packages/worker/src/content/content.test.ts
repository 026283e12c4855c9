import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { contentOf } from './content-of.ts';
import { FileDigests } from './file-digests.ts';
import { type ContentLoad, LocalModelFiles } from './model-files.ts';

let folder: string;
/** Model files of a version, with a folder inside. */
let version: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'millrace-content-'));
  version = join(folder, 'm/1');
  mkdirSync(join(version, 'parts'), { recursive: true });
  writeFileSync(join(version, 'model.onnx'), 'graph');
  writeFileSync(join(version, 'parts/ä.bin'), 'weights');
  writeFileSync(join(version, 'Z'), '');
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Files of a test are new: their digests are kept only if the clock says that they are not. */
const later = (): number => Date.now() + 10_000;

describe('the digest of a version folder', () => {
  test('is that of the lines of sha256sum, in the order of the bytes of their paths', async () => {
    const content = await contentOf({ path: join(version, 'model.onnx'), folder: version }, new FileDigests());
    const command =
      "find -L . -type f -printf '%P\\0' | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -d' ' -f1";
    const printed = execFileSync('sh', ['-c', command], { cwd: version, encoding: 'utf8' }).trim();
    expect(content.digest).toBe(`sha256:${printed}`);
    // Computed once: whoever changes the definition has to change this line.
    expect(content.digest).toBe('sha256:b90b238e64d8df8eb9b85425fb7ded8226ba5cbb6daabc4c1bc6efec493df69e');
    expect(content.file).toBe('model.onnx');
    expect(content.locations).toEqual([{ kind: 'folder', path: version }]);
  });

  test('differs when a file is renamed, changed or added', async () => {
    const digest = async (): Promise<string> =>
      (await contentOf({ path: join(version, 'model.onnx'), folder: version }, new FileDigests())).digest;
    const digests = [await digest()];
    writeFileSync(join(version, 'Z'), 'z');
    digests.push(await digest());
    writeFileSync(join(version, 'Y'), '');
    digests.push(await digest());
    rmSync(join(version, 'Y'));
    writeFileSync(join(version, 'X'), '');
    digests.push(await digest());
    expect(new Set(digests).size).toBe(4);
  });

  test('of a loose file includes the weights that are named after it, and no other model', async () => {
    for (const name of ['a.onnx', 'a.onnx.data', 'a.data', 'a.b.onnx', 'ab.data'])
      writeFileSync(join(folder, name), name);
    const { files } = await contentOf({ path: join(folder, 'a.onnx') }, new FileDigests());
    expect(files.map(({ path }) => path).sort()).toEqual(['a.data', 'a.onnx', 'a.onnx.data']);
  });

  test('cannot be had of a file whose name has a line break, and says so', async () => {
    writeFileSync(join(version, 'a\nb'), '');
    const load = { path: join(version, 'model.onnx'), folder: version };
    await expect(contentOf(load, new FileDigests())).rejects.toThrow(/"a\\nb" has a line break.*rename the file/);
  });
});

describe('digests of files', () => {
  test('are computed once while a file is unchanged', async () => {
    const read: string[] = [];
    const digests = new FileDigests(async (path) => {
      read.push(path);
      return '0';
    }, later);
    const path = join(version, 'model.onnx');
    await digests.of(path);
    await digests.of(path);
    expect(read).toEqual([path]);
    writeFileSync(path, 'graph two');
    await digests.of(path);
    expect(read).toEqual([path, path]);
  });

  test('that several ask for at once are computed once', async () => {
    let reads = 0;
    const started: (() => void)[] = [];
    const digests = new FileDigests((path) => {
      reads += 1;
      return new Promise((resolve) => started.push(() => resolve(path)));
    }, later);
    const path = join(version, 'model.onnx');
    const given = [digests.of(path), digests.of(path), digests.of(path)];
    // All three have seen the file as it is when the next one has been asked for.
    await vi.waitFor(() => expect(started).toHaveLength(1));
    const other = digests.of(join(version, 'Z'));
    await vi.waitFor(() => expect(started).toHaveLength(2));
    for (const finish of started) finish();
    await Promise.all([...given, other]);
    expect(reads).toBe(2);
  });

  test('of a file that has just changed are not kept: it may change again within one tick of its time stamp', async () => {
    let reads = 0;
    const digests = new FileDigests(
      async () => String(reads++),
      () => statSync(join(version, 'Z')).ctimeMs + 50,
    );
    await digests.of(join(version, 'Z'));
    await digests.of(join(version, 'Z'));
    expect(reads).toBe(2);
  });

  test('are known to the next process, as long as the file is the same', async () => {
    const entries = new Map<string, string>();
    const lasting = {
      get: (key: string) => entries.get(key),
      put: (key: string, sha256: string) => void entries.set(key, sha256),
    };
    const path = join(version, 'Z');
    const later = (): number => statSync(path).ctimeMs + 1000;
    const { sha256 } = await new FileDigests(undefined, later, lasting).of(path);
    const unread = async (): Promise<string> => 'read again';
    expect((await new FileDigests(unread, later, lasting).of(path)).sha256).toBe(sha256);
    writeFileSync(path, 'other content');
    expect((await new FileDigests(unread, later, lasting).of(path)).sha256).toBe('read again');
  });

  test('of a file that changes while it is read are refused', async () => {
    const digests = new FileDigests(async (path) => {
      writeFileSync(path, 'something else');
      return '0';
    });
    await expect(digests.of(join(version, 'model.onnx'))).rejects.toThrow(/changed while it was read/);
  });
});

describe('model files', () => {
  const cache = (): string => join(folder, 'cache');
  const files = (): LocalModelFiles => new LocalModelFiles({ cacheFolder: cache(), digests: new FileDigests() });
  const load = async (changes: Partial<ContentLoad> = {}): Promise<ContentLoad> => {
    const path = join(version, 'model.onnx');
    const content = await contentOf({ path, folder: version }, new FileDigests());
    const spec = { model: 1, name: 'm', version: '1', engine: 'onnxruntime', isBatched: false } as const;
    return { ...spec, path, inputs: [], outputs: [], threads: 1, isSpinning: false, content, ...changes };
  };

  test('are used where the router sees them, if they are what it says', async () => {
    const found = await files().find(await load());
    expect(found.path).toBe(join(version, 'model.onnx'));
    await found.confirm();
    writeFileSync(join(version, 'parts/ä.bin'), 'other weights');
    await expect(found.confirm()).rejects.toThrow(/changed while it was loaded: .*parts\/ä\.bin has the SHA-256/);
  });

  test('are copied from a folder into the cache, once, and found there afterwards', async () => {
    const elsewhere = await load({ path: '/nowhere/1/model.onnx' });
    const modelFiles = files();
    const found = await Promise.all([modelFiles.find(elsewhere), modelFiles.find(elsewhere)]);
    const cached = join(cache(), elsewhere.content.digest.replace(':', '-'), 'model.onnx');
    expect(found.map(({ path }) => path)).toEqual([cached, cached]);
    rmSync(version, { recursive: true });
    expect((await files().find(elsewhere)).path).toBe(cached);
    expect(readdirSync(cache())).toHaveLength(1);
  });

  test('are copied again when the copy in the cache is damaged', async () => {
    const elsewhere = await load({ path: '/nowhere/1/model.onnx' });
    const { path } = await files().find(elsewhere);
    writeFileSync(path, 'damaged');
    expect((await files().find(elsewhere)).path).toBe(path);
    await (await files().find(elsewhere)).confirm();
  });

  test('that differ from what was asked for are refused, with both digests, and leave nothing in the cache', async () => {
    const elsewhere = await load({ path: '/nowhere/1/model.onnx' });
    writeFileSync(join(version, 'model.onnx'), 'another graph');
    await expect(files().find(elsewhere)).rejects.toThrow(
      new RegExp(
        `no files of ${elsewhere.content.digest} were found: .*copy from ${version} was refused: model.onnx has`,
      ),
    );
    expect(readdirSync(cache())).toEqual([]);
  });

  test('of a digest that is not that of the list are refused before anything is read', async () => {
    const { content, ...spec } = await load();
    const wrong = { ...spec, content: { ...content, digest: `sha256:${'0'.repeat(64)}` } };
    await expect(files().find(wrong)).rejects.toThrow(/is not that of its list of files/);
  });

  test('at a location of a later release are not fetched, and the reason names it', async () => {
    const { content, ...spec } = await load({ path: '/nowhere/1/model.onnx' });
    const locations = [{ kind: 'unknown', name: 'bucket' } as const];
    await expect(files().find({ ...spec, content: { ...content, locations } })).rejects.toThrow(/of kind "bucket"/);
  });
});
