/** A web server as one has it in front of Millrace: it serves files, and passes everything else on, unchanged. */
import { once } from 'node:events';
import { createServer, request as sendRequest } from 'node:http';
import { connect } from 'node:net';

/** `files` by path: type and content. Without `target` other paths are not found. */
export async function openFront(files, target) {
  const server = createServer((request, response) => {
    const file = files[request.url.split('?', 1)[0]];
    if (file !== undefined) {
      response.setHeader('content-type', file.type);
      response.end(file.content);
      return;
    }
    if (target === undefined) {
      response.writeHead(404).end();
      return;
    }
    const { method, url: path, headers } = request;
    const passed = sendRequest({ host: target.host, port: target.port, method, path, headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      response.flushHeaders();
      answer.pipe(response);
      answer.once('error', () => response.destroy());
    });
    passed.once('error', () => (response.headersSent ? response.destroy() : response.writeHead(502).end()));
    response.once('close', () => passed.destroy());
    request.pipe(passed);
  });
  server.on('upgrade', ({ method, url, rawHeaders }, near, head) => {
    const fields = rawHeaders.map((text, at) => (at % 2 === 0 ? `${text}: ` : `${text}\r\n`)).join('');
    const far = connect(target.port, target.host, () => {
      far.write(`${method} ${url} HTTP/1.1\r\n${fields}\r\n`);
      far.write(head);
      near.pipe(far).pipe(near);
    });
    for (const [one, other] of [
      [near, far],
      [far, near],
    ]) {
      one.on('error', () => {});
      one.once('close', () => other.destroy());
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
