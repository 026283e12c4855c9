/** Serves echo.proto to foreign clients: prints its port, ends on SIGTERM. */
import { createRpcHandler, serveWire } from '@millrace/http';
import { echoService } from './echo-service.ts';

const server = await serveWire(createRpcHandler([echoService()], { receiveBytesMax: 8 * 1024 * 1024 }));
process.on('SIGTERM', () => {
  server.close().then(
    () => process.exit(0),
    () => process.exit(1),
  );
});
process.stdout.write(`${server.port}\n`);
