import { expect, test } from 'vitest';
import { StreamRestoration } from './stream-restoration.ts';

/** A host whose journal can be read after so many failures. */
function restorationAfter(failures: number) {
  const said: string[] = [];
  const pauses: { readonly ms: number; readonly end: () => void }[] = [];
  let tries = 0;
  const restoration = new StreamRestoration({
    host: {
      restore: async (onFailed) => {
        tries += 1;
        if (tries <= failures) throw new Error('no disk');
        onFailed('lost', new Error('its model is gone') as never);
        return 3;
      },
    },
    clock: {
      alarm: (ms, end) => {
        const pause = { ms, end };
        pauses.push(pause);
        return () => void pauses.splice(pauses.indexOf(pause), 1);
      },
    },
    logger: {
      info: (fields: object) => void said.push(`info ${Object.keys(fields)}`),
      warn: (fields: object) => void said.push(`warn ${Object.keys(fields)}`),
      error: (fields: object) => void said.push(`error ${Object.keys(fields)}`),
    } as never,
  });
  const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const passPauses = async (): Promise<readonly number[]> => {
    const passed: number[] = [];
    for (let pause = pauses.shift(); pause !== undefined; pause = pauses.shift()) {
      passed.push(pause.ms);
      pause.end();
      await settle();
    }
    return passed;
  };
  return { restoration, said, pauses, settle, passPauses };
}

test('streams are taken over, and those that cannot be are named', async () => {
  const { restoration, said, settle, pauses } = restorationAfter(0);
  restoration.start();
  await settle();
  expect([said, pauses]).toEqual([['warn stream,error', 'info streams'], []]);
});

test('a journal that cannot be read is tried again after growing pauses', async () => {
  const { restoration, said, settle, passPauses } = restorationAfter(3);
  restoration.start();
  await settle();
  expect(await passPauses()).toEqual([1000, 2000, 4000]);
  expect(said.slice(-2)).toEqual(['warn stream,error', 'info streams']);
});

test('a journal that can never be read is given up', async () => {
  const { restoration, said, settle, passPauses } = restorationAfter(100);
  restoration.start();
  await settle();
  const pauses = await passPauses();
  expect([pauses.length, Math.max(...pauses)]).toEqual([11, 60_000]);
  expect(said.at(-1)).toBe('error error,tries');
});

test('nothing is tried again after the server was closed', async () => {
  const { restoration, settle, pauses } = restorationAfter(1);
  restoration.start();
  await settle();
  restoration.close();
  expect(pauses).toEqual([]);
});
