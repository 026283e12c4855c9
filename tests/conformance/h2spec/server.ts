/**
 * The server h2spec is run against: reads each request and answers it, with a body long enough for the flow control cases.
 * Usage: node server.js [CERTIFICATE KEY]; prints its port, stops on SIGTERM.
 */
import { readFileSync } from 'node:fs';
import { type HttpHandler, serveHttp } from '@millrace/http';

const [certificate, key] = process.argv.slice(2);
const body = Buffer.from('h2spec wants some bytes to watch the windows with');
const handler: HttpHandler = async (request) => {
  await request.body.readAll(1 << 20);
  return { status: 200, headers: [['content-type', 'text/plain']], body };
};

const server = await serveHttp(handler, {
  // A stream that the suite breaks off is what it is there for.
  onError: () => {},
  tls:
    certificate === undefined || key === undefined
      ? undefined
      : { cert: readFileSync(certificate), key: readFileSync(key) },
});
process.on('SIGTERM', () => {
  server.close().then(
    () => process.exit(0),
    () => process.exit(1),
  );
});
process.stdout.write(`${server.port}\n`);
