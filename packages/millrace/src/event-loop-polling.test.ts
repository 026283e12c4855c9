import { takeYieldCore } from '@millrace/shared-memory';
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
  const root2 = { '/proc/self/cgroup': '0::/\n' };
  const root1 = { '/proc/self/cgroup': '4:memory:/\n3:cpu,cpuacct:/\n' };
  const unit = { '/proc/self/cgroup': '0::/system.slice/millrace.service\n' };

  it.each([
    ['no control group', {}, false],
    ['version 2 without a limit', { ...root2, '/sys/fs/cgroup/cpu.max': 'max 100000\n' }, false],
    ['version 2 with a limit', { ...root2, '/sys/fs/cgroup/cpu.max': '150000 100000\n' }, true],
    ['a service with a limit', { ...unit, '/sys/fs/cgroup/system.slice/millrace.service/cpu.max': '5000 10000' }, true],
    ['a group above it with a limit', { ...unit, '/sys/fs/cgroup/system.slice/cpu.max': '5000 10000' }, true],
    [
      'a container with a limit',
      {
        '/proc/self/cgroup': '0::/kubepods.slice:cri-containerd:1f\n',
        '/sys/fs/cgroup/kubepods.slice:cri-containerd:1f/cpu.max': '5000 10000',
      },
      true,
    ],
    ['a service without a limit', { ...unit, '/sys/fs/cgroup/system.slice/cpu.max': 'max 10000' }, false],
    ['version 1 without a limit', { ...root1, '/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us': '-1\n' }, false],
    ['version 1 with a limit', { ...root1, '/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us': '50000\n' }, true],
  ])('reads the quota: %s', (_, files, hasQuota) => {
    expect(processorGrant(filesOf(files)).hasQuota).toBe(hasQuota);
  });
});

describe('eventLoopPolling', () => {
  it('is off with 0 microseconds, and where processor time is limited', () => {
    expect(eventLoopPolling(0, { cores: 4, hasQuota: false })).toBeUndefined();
    expect(eventLoopPolling(200, { cores: 4, hasQuota: true })).toBeUndefined();
    expect(eventLoopPolling(200, { cores: 1, hasQuota: false }) === undefined).toBe(takeYieldCore() === undefined);
  });
});
