/** Serves echo.proto to foreign clients, and to pages of ECHO_CORS_ORIGIN: prints its port, ends on SIGTERM. */
import { createRpcHandler, serveWire } from '@millrace/http';
import { noteService } from './echo-service.ts';

const origin = process.env.ECHO_CORS_ORIGIN;
const handler = createRpcHandler([noteService()], {
  receiveBytesMax: 8 * 1024 * 1024,
  cors: origin === undefined ? undefined : { origins: [origin] },
});
const server = await serveWire(handler);
process.on('SIGTERM', () => {
  server.close().then(
    () => process.exit(0),
    () => process.exit(1),
  );
});
process.stdout.write(`${server.port}\n`);
