/** The user that child processes run as: `worker.user` and `worker.group`, by name or number. */
import { readFileSync } from 'node:fs';
import { ConfigError, type ConfigProblem } from '@millrace/protocol';
import type { Config } from '../config/fields.ts';

export interface WorkerUser {
  /** As it was written. */
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

export interface UserSystem {
  /** Undefined on systems without users. */
  readonly ownUid: number | undefined;
  readonly ownGid: number | undefined;
  /** Contents of /etc/passwd and /etc/group. */
  readonly users: () => string;
  readonly groups: () => string;
}

/** Undefined: the server's own. Throws a `ConfigError` when processes cannot be started as that user. */
export function resolveWorkerUser(
  { user, group }: Pick<Config['worker'], 'user' | 'group'>,
  system: UserSystem = thisSystem(),
): WorkerUser | undefined {
  if (user === '') return undefined;
  const problems: ConfigProblem[] = [];
  const account = isNumber(user) ? { uid: Number(user), gid: undefined } : takeAccount(system.users(), user);
  if (account === undefined) problems.push(unknown('worker.user', user, '/etc/passwd', 'useradd --system'));
  const gid = group === '' ? (account?.gid ?? primaryGroupOf(system, user)) : groupFrom(system, group);
  if (gid === undefined && group !== '') problems.push(unknown('worker.group', group, '/etc/group', 'groupadd'));
  else if (gid === undefined && account !== undefined) {
    const message = `${user} is not in /etc/passwd, so its group is not known; give worker.group as well`;
    problems.push({ source: user, field: 'worker.user', message });
  }
  if (account === undefined || gid === undefined) throw new ConfigError(problems);
  const isOwn = account.uid === system.ownUid && gid === system.ownGid;
  if (system.ownUid !== 0 && !isOwn) throw new ConfigError([notAllowed(user, system.ownUid)]);
  return isOwn ? undefined : { name: user, uid: account.uid, gid };
}

function thisSystem(): UserSystem {
  const ownUid = process.geteuid?.();
  return {
    ownUid,
    ownGid: process.getegid?.(),
    users: () => readFileSync('/etc/passwd', 'utf8'),
    groups: () => readFileSync('/etc/group', 'utf8'),
  };
}

function isNumber(written: string): boolean {
  return /^\d+$/.test(written);
}

/** Name, password, user, group, and what does not matter here. */
function takeAccount(users: string, name: string): { readonly uid: number; readonly gid: number } | undefined {
  const [, , uid, gid] = takeLine(users, 0, name) ?? [];
  return uid === undefined || gid === undefined ? undefined : { uid: Number(uid), gid: Number(gid) };
}

function primaryGroupOf(system: UserSystem, uid: string): number | undefined {
  if (!isNumber(uid)) return undefined;
  const gid = takeLine(system.users(), 2, uid)?.[3];
  return gid === undefined ? undefined : Number(gid);
}

function groupFrom(system: UserSystem, group: string): number | undefined {
  if (isNumber(group)) return Number(group);
  const gid = takeLine(system.groups(), 0, group)?.[2];
  return gid === undefined ? undefined : Number(gid);
}

function takeLine(table: string, column: number, value: string): readonly string[] | undefined {
  return table
    .split('\n')
    .map((line) => line.split(':'))
    .find((fields) => fields[column] === value);
}

function unknown(field: string, name: string, table: string, command: string): ConfigProblem {
  const message = `${name} is not in ${table}; create it (${command} ${name}) or give its number`;
  return { source: name, field, message };
}

function notAllowed(user: string, ownUid: number | undefined): ConfigProblem {
  const who = ownUid === undefined ? 'this system has no such users' : `this process has user id ${ownUid}`;
  const message = `processes can be started as another user only by root, and ${who}; start the server as root or remove worker.user`;
  return { source: user, field: 'worker.user', message };
}
