/**
 * The contract of management. Run for the double, for each interface in front of it, and for each interface of a
 * real server, so that none of them can drift from the others.
 */
import { describe, expect, test } from 'vitest';
import type { RemoteManagement } from './remote-management.ts';

/** Has a model `mill` with ready versions 1 and 2, and a model `spare` with version 1 that was never loaded. */
export interface ManagementSubject {
  readonly management: RemoteManagement;
  /** A configuration that `spare` can be loaded with, and a file for it. */
  readonly override: { readonly config: string; readonly files: ReadonlyMap<string, Uint8Array> };
}

export function managementContract(name: string, open: () => ManagementSubject | Promise<ManagementSubject>): void {
  const refusal = (code: string, message: RegExp) =>
    expect.objectContaining({ code, message: expect.stringMatching(message) });
  const stateOf = async ({ management }: ManagementSubject, model: string) =>
    (await management.index())
      .filter((entry) => entry.name === model)
      .map(({ version, state }) => `${version} ${state}`);

  describe(`management: ${name}`, () => {
    test('the index lists every model; one that was never loaded has a name only', async () => {
      const subject = await open();
      expect(await stateOf(subject, 'mill')).toEqual(['1 READY', '2 READY']);
      expect((await subject.management.index()).filter((entry) => entry.name === 'spare')).toEqual([{ name: 'spare' }]);
    });

    test('a model is loaded and unloaded', async () => {
      const subject = await open();
      const { management } = subject;
      await management.load('spare');
      expect(await stateOf(subject, 'spare')).toEqual(['1 READY']);
      expect((await management.contexts()).find((context) => context.name === 'spare')).toMatchObject({
        version: '1',
        state: 'ready',
        reason: '',
      });
      await management.unload('spare');
      expect(await stateOf(subject, 'spare')).not.toContain('1 READY');
    });

    test('a model that is not in the repository cannot be loaded', async () => {
      const { management } = await open();
      await expect(management.load('nobody')).rejects.toEqual(refusal('invalid-request', /failed to load 'nobody'/));
    });

    test('a load may bring a configuration, and files with it', async () => {
      const subject = await open();
      const { management, override } = subject;
      await management.load('spare', { config: override.config });
      await management.load('spare', override);
      expect(await stateOf(subject, 'spare')).toContain('1 READY');
      await management.unload('spare');
    });

    test('labels are set, moved and removed one by one; each change raises the revision', async () => {
      const { management } = await open();
      const before = await management.traffic('mill');
      const first = await management.changeTraffic('mill', {
        labels: new Map([
          ['stable', '1'],
          ['canary', '2'],
        ]),
      });
      expect(first.labels).toEqual(
        new Map([
          ['stable', '1'],
          ['canary', '2'],
        ]),
      );
      expect(first.revision).toBeGreaterThan(before.revision);
      const second = await management.changeTraffic('mill', {
        labels: new Map([
          ['stable', '2'],
          ['canary', undefined],
        ]),
      });
      expect(second.labels).toEqual(new Map([['stable', '2']]));
      expect(second.revision).toBeGreaterThan(first.revision);
      expect(await management.traffic('mill')).toEqual(second);
      const labels = (await management.contexts()).filter((one) => one.name === 'mill').map((one) => [...one.labels]);
      expect(labels).toEqual([[], ['stable']]);
    });

    test('a split and shadows replace the previous ones and nothing else', async () => {
      const { management } = await open();
      await management.changeTraffic('mill', { labels: new Map([['stable', '1']]) });
      const split = [
        { version: '1', weight: 90 },
        { version: '2', weight: 10 },
      ];
      const shadows = [{ version: '2', percent: 12.5 }];
      await management.changeTraffic('mill', { split });
      const both = await management.changeTraffic('mill', { shadows });
      expect(both).toMatchObject({ split, shadows, labels: new Map([['stable', '1']]) });
      const ended = await management.changeTraffic('mill', { split: [], shadows: [] });
      expect(ended).toMatchObject({ split: [], shadows: [], labels: new Map([['stable', '1']]) });
    });

    test('a change that expects another revision changes nothing', async () => {
      const { management } = await open();
      const { revision } = await management.changeTraffic('mill', { labels: new Map([['stable', '1']]) });
      const move = { labels: new Map([['stable', '2']]) };
      await expect(management.changeTraffic('mill', move, revision + 1)).rejects.toEqual(refusal('conflict', /./));
      expect(await management.traffic('mill')).toMatchObject({ revision, labels: new Map([['stable', '1']]) });
      const moved = await management.changeTraffic('mill', move, revision);
      expect(moved.labels.get('stable')).toBe('2');
    });

    test('a change that names an unknown version changes nothing', async () => {
      const { management } = await open();
      const { revision } = await management.traffic('mill');
      for (const change of [
        { labels: new Map([['stable', '9']]) },
        { split: [{ version: '9', weight: 1 }] },
        { shadows: [{ version: '9', percent: 1 }] },
      ]) {
        await expect(management.changeTraffic('mill', change)).rejects.toEqual(refusal('invalid-request', /version 9/));
      }
      expect(await management.traffic('mill')).toMatchObject({ revision });
    });

    test('a pin is set, listed and removed', async () => {
      const { management } = await open();
      const pins = async () =>
        (await management.contexts()).filter((one) => one.name === 'mill').map(({ isPinned }) => isPinned);
      await management.setPinned('mill', '2', true);
      expect(await pins()).toEqual([false, true]);
      await management.setPinned('mill', '2', false);
      expect(await pins()).toEqual([false, false]);
    });

    test('instances are listed with their breakers, which can be closed', async () => {
      const { management } = await open();
      const [first] = (await management.instances()).filter((one) => one.model === 'mill');
      expect(first?.worker).toBeTypeOf('number');
      await management.closeBreaker(first?.worker as number);
      const [after] = (await management.instances()).filter((one) => one.model === 'mill');
      expect(after).toMatchObject({ worker: first?.worker, breaker: 'closed' });
    });

    test('queues are listed for every version, and the cache is flushed', async () => {
      const { management } = await open();
      const { models } = await management.queues();
      expect(models.filter(({ model }) => model === 'mill').map(({ version }) => version)).toEqual(['1', '2']);
      expect(await management.flushCache('mill')).toBeGreaterThanOrEqual(0);
      expect(await management.flushCache()).toBe(0);
    });

    test('streams are listed; one that does not exist can be neither shown nor cancelled', async () => {
      const { management } = await open();
      const query = { model: 'spare', isOpenOnly: true, limit: 5, after: '' };
      expect(await management.streams(query)).toEqual({ streams: [], next: undefined });
      const none = refusal('stream-not-found', /there is no stream nothing/);
      await expect(management.stream('nothing')).rejects.toEqual(none);
      await expect(management.cancelStream('nothing', 'why')).rejects.toEqual(none);
    });

    const unknown: [string, (management: RemoteManagement) => Promise<unknown>][] = [
      ['unload', (management) => management.unload('nobody')],
      ['traffic', (management) => management.traffic('nobody')],
      ['changeTraffic', (management) => management.changeTraffic('nobody', { split: [] })],
      ['setPinned', (management) => management.setPinned('nobody', '1', true)],
      ['setPinned of no version', (management) => management.setPinned('mill', '9', true)],
    ];
    test.each(unknown)('%s: an unknown name is refused as unknown', async (_, call) => {
      const { management } = await open();
      await expect(call(management)).rejects.toEqual(refusal('unknown-model', /nobody|mill/));
    });
  });
}
