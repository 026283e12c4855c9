/** Calls from an address of choice: loopback has all of 127.0.0.0/8, so that one machine can be several callers. */
import { request } from 'node:http';
import type { NamedValues } from './golden.ts';
import { type CallAnswer, type CallOptions, decodeAnswer, encodeCall, inferUrl } from './inference-call.ts';

export function inferFrom(
  localAddress: string,
  url: string,
  model: string,
  inputs: readonly NamedValues[],
  options: CallOptions = {},
): Promise<CallAnswer> {
  const { body, headers } = encodeCall(inputs, options);
  const target = inferUrl(url, model, options.version);
  return new Promise((resolve, reject) => {
    const sent = request(target, { method: 'POST', localAddress, agent: false, headers }, (response) => {
      const pieces: Buffer[] = [];
      response.on('data', (piece: Buffer) => pieces.push(piece));
      response.once('error', reject);
      response.once('end', () => {
        const fields = new Headers();
        for (const [name, value] of Object.entries(response.headers)) fields.set(name, String(value));
        resolve(decodeAnswer(response.statusCode ?? 0, fields, Buffer.concat(pieces)));
      });
    });
    sent.once('error', reject);
    sent.end(body);
  });
}
