import type { ProtocolUpgrade } from '../upgrade.ts';

/** Another protocol, for tests of the change: says `greeting`, repeats what it hears, and closes after a full stop. */
export function echoUpgrade(greeting: string): ProtocolUpgrade {
  return {
    take: ({ transport, release }) => {
      transport.write([Buffer.from(`HTTP/1.1 101 Switching Protocols\r\n\r\n${greeting}`)], undefined);
      return {
        receive: (bytes) => {
          transport.write([bytes], undefined);
          if (bytes.includes('.')) transport.end();
        },
        receiveEnd: () => transport.end(),
        onWritable: () => {},
        onClosed: release,
        flush: () => {},
        drain: () => transport.end(),
        endIdle: () => transport.end(),
        idleSinceMs: 0,
      };
    },
  };
}
