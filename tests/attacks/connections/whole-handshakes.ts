import type { Attack } from '../attack.ts';

export const wholeHandshakes: Attack = {
  name: 'whole-handshakes',
  row: 'TLS handshakes are made and thrown away as fast as the machine allows; each costs the server a signature.',
  expected: 'harmless',
  isOverTls: true,
  run: (target, pressure) =>
    target.again(16 * pressure, async () => {
      const socket = await target.dial();
      if (socket === undefined) return target.sleep(50);
      target.hangUp(socket);
    }),
};
