import { ConfigError } from '@millrace/protocol';
import { expect, test } from 'vitest';
import { resolveWorkerUser, type UserSystem } from './worker-user.ts';

const system: UserSystem = {
  ownUid: 0,
  ownGid: 0,
  users: () => 'root:x:0:0:root:/root:/bin/sh\nserving:x:990:980::/nonexistent:/bin/false\n',
  groups: () => 'root:x:0:\nmodels:x:970:serving\n',
};

function problemsOf(user: string, group: string, on: UserSystem): readonly string[] {
  try {
    resolveWorkerUser({ user, group }, on);
    return [];
  } catch (error) {
    expect(error).toBeInstanceOf(ConfigError);
    return (error as ConfigError).problems.map(({ field, message }) => `${field} ${message}`);
  }
}

test('a user is found by name with its group, or by number', () => {
  expect(resolveWorkerUser({ user: 'serving', group: '' }, system)).toEqual({ name: 'serving', uid: 990, gid: 980 });
  expect(resolveWorkerUser({ user: 'serving', group: 'models' }, system)).toMatchObject({ uid: 990, gid: 970 });
  expect(resolveWorkerUser({ user: '990', group: '' }, system)).toMatchObject({ uid: 990, gid: 980 });
  expect(resolveWorkerUser({ user: '1234', group: '77' }, system)).toMatchObject({ uid: 1234, gid: 77 });
});

test('no user, or the one the server has already, changes nothing', () => {
  expect(resolveWorkerUser({ user: '', group: '' }, system)).toBeUndefined();
  expect(resolveWorkerUser({ user: 'root', group: '' }, system)).toBeUndefined();
  expect(resolveWorkerUser({ user: '990', group: '' }, { ...system, ownUid: 990, ownGid: 980 })).toBeUndefined();
});

test('unknown users and groups are refused by name, both at once', () => {
  expect(problemsOf('nosuch', 'nosuchgroup', system)).toEqual([
    'worker.user nosuch is not in /etc/passwd; create it (useradd --system nosuch) or give its number',
    'worker.group nosuchgroup is not in /etc/group; create it (groupadd nosuchgroup) or give its number',
  ]);
});

test('a number without an entry needs a group beside it', () => {
  expect(problemsOf('1234', '', system)).toEqual([
    'worker.user 1234 is not in /etc/passwd, so its group is not known; give worker.group as well',
  ]);
});

test('only root starts processes as another user', () => {
  expect(problemsOf('serving', '', { ...system, ownUid: 1000, ownGid: 1000 })).toEqual([
    'worker.user processes can be started as another user only by root, and this process has user id 1000; start the server as root or remove worker.user',
  ]);
  expect(problemsOf('serving', '', { ...system, ownUid: undefined, ownGid: undefined })[0]).toContain('no such users');
});
