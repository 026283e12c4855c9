import { expect, test } from 'vitest';
import { type Component, Components } from './components.ts';

/** A component that records its calls. */
function noting(name: string, log: string[]): Component {
  return {
    drain: async () => {
      log.push(`${name} drains`);
      await Promise.resolve();
      log.push(`${name} is drained`);
    },
    close: async () => {
      log.push(`${name} closes`);
      await Promise.resolve();
      log.push(`${name} is closed`);
    },
  };
}

test('components drain and close one after another, the last one first', async () => {
  const log: string[] = [];
  const components = await Components.start(async (started) => {
    started.add(noting('store', log));
    started.add({});
    started.add(noting('port', log));
    return started;
  });
  await components.drain();
  expect(log).toEqual(['port drains', 'port is drained', 'store drains', 'store is drained']);
  log.length = 0;
  await components.close();
  expect(log).toEqual(['port closes', 'port is closed', 'store closes', 'store is closed']);
});

test('a start that fails closes what had started, drains nothing, and rejects with its own reason', async () => {
  const log: string[] = [];
  const start = Components.start(async (components) => {
    components.add(noting('store', log));
    components.add({
      close: () => {
        log.push('workers close');
        throw new Error('the workers do not end');
      },
    });
    throw new Error('the port is taken');
  });
  await expect(start).rejects.toThrow('the port is taken');
  expect(log).toEqual(['workers close', 'store closes', 'store is closed']);
});

test('a drain reaches the first component that takes time before it returns', () => {
  const log: string[] = [];
  const components = new Components();
  components.add(noting('data plane', log));
  components.add({ drain: () => void log.push('library ends') });
  components.add({});
  void components.drain();
  expect(log).toEqual(['library ends', 'data plane drains']);
});

test('close runs once for all callers, also while a drain waits', async () => {
  const log: string[] = [];
  let endDrain = (): void => {};
  const drained = new Promise<void>((resolve) => {
    endDrain = resolve;
  });
  const components = new Components();
  components.add(noting('store', log));
  components.add({ drain: () => drained, close: endDrain });
  const drain = components.drain();
  await Promise.all([components.close(), components.close(), drain]);
  expect(log.filter((line) => line === 'store closes')).toHaveLength(1);
});

test('components that cannot be closed are reported after the others have been closed', async () => {
  const log: string[] = [];
  const failing = (reason: string): Component => ({
    close: () => {
      throw new Error(reason);
    },
  });
  const closing = async (...reasons: readonly string[]): Promise<void> => {
    const components = new Components();
    components.add(noting('store', log));
    for (const reason of reasons) components.add(failing(reason));
    await components.close();
  };
  await expect(closing('one')).rejects.toThrow('one');
  await expect(closing('one', 'two')).rejects.toMatchObject({
    message: '2 parts could not be closed',
    errors: [{ message: 'two' }, { message: 'one' }],
  });
  expect(log.filter((line) => line === 'store is closed')).toHaveLength(2);
});
