/** One complete gRPC call with Node's own HTTP/2 client: scenarios check answers with it. */
import { connect } from 'node:http2';
import { openEnvelopes } from '../grpc-messages.ts';

/** The messages of the answer; throws unless the call ended with status 0. */
export function callOnce(origin: string, path: string, body: Uint8Array): Promise<Buffer[]> {
  return new Promise((resolve, reject) => {
    const session = connect(origin, { rejectUnauthorized: false });
    session.once('error', reject);
    const stream = session.request({
      ':method': 'POST',
      ':path': path,
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    const parts: Buffer[] = [];
    let status: unknown;
    let message: unknown;
    const readStatus = (fields: Record<string, unknown>): void => {
      status = fields['grpc-status'] ?? status;
      message = fields['grpc-message'] ?? message;
    };
    stream.on('response', readStatus);
    stream.on('trailers', readStatus);
    stream.on('data', (part: Buffer) => parts.push(part));
    stream.on('error', reject);
    stream.on('close', () => {
      session.close();
      if (status === '0') resolve(openEnvelopes(Buffer.concat(parts)));
      else reject(new Error(`${path} ended with status ${status}: ${message}`));
    });
    stream.end(body);
  });
}
