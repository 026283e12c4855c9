import { describe, expect, it } from 'vitest';
import { eventLoopPolling, processorGrant } from './event-loop-polling.ts';

const filesOf =
  (files: Readonly<Record<string, string>>) =>
  (path: string): string => {
    const text = files[path];
    if (text === undefined) throw new Error(`no file ${path}`);
    return text;
  };

describe('processorGrant', () => {
  it.each([
    ['no control group', {}, false],
    ['version 2 without a limit', { '/sys/fs/cgroup/cpu.max': 'max 100000\n' }, false],
    ['version 2 with a limit', { '/sys/fs/cgroup/cpu.max': '150000 100000\n' }, true],
    ['version 1 without a limit', { '/sys/fs/cgroup/cpu/cpu.cfs_quota_us': '-1\n' }, false],
    ['version 1 with a limit', { '/sys/fs/cgroup/cpu/cpu.cfs_quota_us': '50000\n' }, true],
  ])('reads the quota: %s', (_, files, hasQuota) => {
    expect(processorGrant(filesOf(files)).hasQuota).toBe(hasQuota);
  });
});

describe('eventLoopPolling', () => {
  it('is off with 0 microseconds, and where processor time is limited', () => {
    expect(eventLoopPolling(0, { cores: 4, hasQuota: false })).toBeUndefined();
    expect(eventLoopPolling(200, { cores: 4, hasQuota: true })).toBeUndefined();
    expect(eventLoopPolling(200, { cores: 1, hasQuota: false })).toBeDefined();
  });
});
