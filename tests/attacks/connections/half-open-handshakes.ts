import type { Attack } from '../attack.ts';

/** The beginning of a ClientHello: a record of 512 bytes of which a few have come. */
const beginning = Buffer.of(0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3);

export const halfOpenHandshakes: Attack = {
  name: 'half-open-handshakes',
  row: 'Thousands of TLS handshakes from one address are begun and not finished, some not even begun.',
  expected: 'refused',
  isOverTls: true,
  secondsMin: 6,
  run: (target, pressure) =>
    target.again(2500 * pressure, async (loop) => {
      const socket = await target.dial(target.location.ports.http, false);
      if (socket === undefined) return target.sleep(500);
      socket.resume();
      if (loop % 3 !== 0) socket.write(beginning);
      await new Promise<void>((resolve) => socket.once('close', () => resolve()));
      await target.sleep(200);
    }),
};
