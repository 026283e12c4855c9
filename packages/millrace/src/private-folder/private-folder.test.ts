import {
  chmodSync,
  existsSync,
  lchownSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createHeldFolder, type HeldFolderFiles, removeHeldFolder } from './held-folder.ts';
import { openPrivateFolder } from './private-folder.ts';

const isRoot = process.geteuid?.() === 0;
const nobody = 65_534;
/** Above what Linux numbers processes to. */
const deadPid = 4_194_305;
const stale = `millrace-server-${deadPid}-abcdef`;

let base: string;
beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'private-folder-'));
});
afterEach(() => rmSync(base, { recursive: true, force: true }));

function permissionsOf(path: string): string {
  return (statSync(path).mode & 0o7777).toString(8);
}

/** The folder of a killed server: files, folders, a lock that nobody holds. */
function leaveBehind(name: string): string {
  const folder = join(base, name);
  mkdirSync(join(folder, 'children', 'deep'), { recursive: true, mode: 0o700 });
  writeFileSync(join(folder, 'lock'), '');
  writeFileSync(join(folder, 'children', 'deep', 'file'), 'x');
  return folder;
}

test('the folder is closed to other users, and gone when it is removed', async () => {
  const folder = await openPrivateFolder({ base });
  expect([permissionsOf(folder.path), permissionsOf(folder.children)]).toEqual(['700', '700']);
  expect(folder.path).toMatch(new RegExp(`/millrace-server-${process.pid}-\\w{6}$`));
  await folder.remove();
  expect(readdirSync(base)).toEqual([]);
});

test('the folder of a dead server is removed, also one without a lock file, and those of living ones stay', async () => {
  const living = await openPrivateFolder({ base });
  leaveBehind(stale);
  rmSync(join(leaveBehind('millrace-server-1-abcdef'), 'lock'));
  const next = await openPrivateFolder({ base });
  expect(new Set(readdirSync(base).map((name) => join(base, name)))).toEqual(new Set([living.path, next.path]));
  await Promise.all([living.remove(), next.remove()]);
});

test('folders with other names are not removed, however old', async () => {
  const names = [
    'millrace-models-abcdef',
    'millrace-server-abcdef',
    'millrace-server-1-abc',
    'x-millrace-server-1-abcdef',
  ];
  for (const name of names) leaveBehind(name);
  await (await openPrivateFolder({ base })).remove();
  expect(readdirSync(base).sort()).toEqual(names.sort());
});

test('a link with the name of a folder is not followed', async () => {
  const target = leaveBehind('target');
  symlinkSync(target, join(base, stale));
  await (await openPrivateFolder({ base })).remove();
  expect(existsSync(join(target, 'children', 'deep', 'file'))).toBe(true);
  expect(existsSync(join(target, 'lock'))).toBe(true);
});

test('links inside a stale folder are removed, and not what they lead to', async () => {
  const target = leaveBehind('target');
  const folder = leaveBehind(stale);
  symlinkSync(target, join(folder, 'children', 'link'));
  rmSync(join(folder, 'lock'));
  symlinkSync(join(target, 'lock'), join(folder, 'lock'));
  await (await openPrivateFolder({ base })).remove();
  // A lock that is a link is none of ours: the folder stays rather than that the link is opened.
  expect(existsSync(folder)).toBe(true);
  rmSync(join(folder, 'lock'));
  await (await openPrivateFolder({ base })).remove();
  expect(existsSync(folder)).toBe(false);
  expect(existsSync(join(target, 'children', 'deep', 'file'))).toBe(true);
});

test('servers that start at the same moment do not remove the folders of one another', async () => {
  leaveBehind(stale);
  const folders = await Promise.all(Array.from({ length: 8 }, () => openPrivateFolder({ base })));
  expect(readdirSync(base).length).toBe(folders.length);
  for (const { children } of folders) expect(existsSync(children)).toBe(true);
  await Promise.all(folders.map((folder) => folder.remove()));
  expect(readdirSync(base)).toEqual([]);
});

describe.runIf(isRoot)('as root', () => {
  test('a folder that belongs to another user is left alone', async () => {
    const folder = leaveBehind(stale);
    lchownSync(folder, nobody, nobody);
    await (await openPrivateFolder({ base })).remove();
    expect(existsSync(join(folder, 'children', 'deep', 'file'))).toBe(true);
  });

  test('children of another user get a folder of their own, and may only pass through the rest', async () => {
    const folder = await openPrivateFolder({ base, user: { uid: nobody, gid: nobody } });
    expect([permissionsOf(folder.path), permissionsOf(folder.children)]).toEqual(['710', '700']);
    expect(statSync(folder.path)).toMatchObject({ uid: 0, gid: nobody });
    expect(statSync(folder.children)).toMatchObject({ uid: nobody, gid: nobody });
    await folder.remove();
  });

  test('what another user wrote is removed with the rights of that user', async () => {
    const folder = leaveBehind(stale);
    const children = join(folder, 'children');
    for (const path of [children, join(children, 'deep'), join(children, 'deep', 'file')])
      lchownSync(path, nobody, nobody);
    await (await openPrivateFolder({ base })).remove();
    // The user cannot get to it through this base, so it stays: root itself removes nothing there.
    expect(existsSync(join(children, 'deep', 'file'))).toBe(true);
    for (const path of [base, folder]) chmodSync(path, 0o711);
    await (await openPrivateFolder({ base })).remove();
    expect(readdirSync(base)).toEqual([]);
  });
});

describe('a folder that a supervisor holds', () => {
  /** As a router inherits it. */
  const heldBy = ({ path, firstPath, descriptor }: HeldFolderFiles) => ({
    path,
    firstPath,
    lockDescriptor: descriptor,
  });

  test('is not removed as stale, neither before a router has locked it nor between two routers', async () => {
    const files = createHeldFolder(base) as HeldFolderFiles;
    const early = await openPrivateFolder({ base });
    expect(existsSync(files.firstPath)).toBe(true);
    const first = await openPrivateFolder({ base, held: heldBy(files) });
    expect(first.path).toMatch(new RegExp(`/millrace-server-${process.pid}-\\w{6}$`));
    await first.remove();
    const late = await openPrivateFolder({ base });
    expect(new Set(readdirSync(base).map((name) => join(base, name)))).toEqual(
      new Set([first.path, early.path, late.path]),
    );
    await Promise.all([early.remove(), late.remove()]);
    await removeHeldFolder(files);
    expect(readdirSync(base)).toEqual([]);
  });

  test('keeps for the next router only what is to last', async () => {
    const files = createHeldFolder(base) as HeldFolderFiles;
    const first = await openPrivateFolder({ base, held: heldBy(files) });
    writeFileSync(join(first.children, 'left'), 'x');
    writeFileSync(join(first.path, 'left'), 'x');
    writeFileSync(join(first.lasting, 'journal'), 'x');
    const second = await openPrivateFolder({ base, held: heldBy(files) });
    expect(second.path).toBe(first.path);
    expect(readdirSync(second.path).sort()).toEqual(['children', 'lasting', 'lock']);
    expect([readdirSync(second.children), readdirSync(second.lasting)]).toEqual([[], ['journal']]);
    await removeHeldFolder(files);
    expect(readdirSync(base)).toEqual([]);
  });

  test('is removed by a later server where its supervisor was killed before a router had locked it', async () => {
    const { firstPath } = createHeldFolder(base) as HeldFolderFiles;
    const twoHoursAgo = Date.now() / 1000 - 7200;
    utimesSync(firstPath, twoHoursAgo, twoHoursAgo);
    const next = await openPrivateFolder({ base });
    expect(readdirSync(base).map((name) => join(base, name))).toEqual([next.path]);
    await next.remove();
  });

  test('is done without where none can be made', async () => {
    expect(createHeldFolder(join(base, 'missing'))).toBeUndefined();
    await removeHeldFolder(undefined);
  });
});
