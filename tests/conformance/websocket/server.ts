/**
 * The server that the Autobahn test suite is run against: sends every message back. Fragments are limited less than by
 * default, because the suite sends 4 MiB in fragments of 64 bytes. Prints its port, stops on SIGTERM.
 */
import { serveWire } from '@millrace/http';
import { requireWebSocket, resolveWebSocketConfig, upgradeToWebSocket } from '@millrace/http/websocket';

const config = resolveWebSocketConfig({ subprotocols: ['echo'], fragmentsMax: 131_072 });
const server = await serveWire(requireWebSocket, {
  onUpgrade: (exchange) =>
    upgradeToWebSocket(exchange, config, (connection) => ({
      onMessage: (data, isBinary) => {
        const hasRoom = isBinary ? connection.send(data) : connection.sendText(data);
        if (!hasRoom) connection.pause();
      },
      onDrain: () => connection.resume(),
      onClose: () => {},
    })),
});
process.on('SIGTERM', () => {
  server.close().then(
    () => process.exit(0),
    () => process.exit(1),
  );
});
process.stdout.write(`${server.port}\n`);
