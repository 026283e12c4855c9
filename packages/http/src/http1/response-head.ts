import type { HeaderList } from '../exchange.ts';
import { isTransportField, mustBeSendable } from '../wire/field.ts';
import { statusTexts } from './refusal.ts';

/** How the end of a response's body is told. */
export type Framing = 'length' | 'chunked' | 'close' | 'none';

/** A response's head as text. Throws when a field may not be sent. */
export function responseHead(
  status: number,
  headers: HeaderList,
  framing: Framing,
  lengthBytes: number,
  connectionOption: '' | 'close' | 'keep-alive',
  date: string,
): string {
  let head = `HTTP/1.1 ${status} ${statusTexts.get(status) ?? ''}\r\n${fieldLines(headers)}`;
  if (framing === 'length') head += `content-length: ${lengthBytes}\r\n`;
  else if (framing === 'chunked') head += 'transfer-encoding: chunked\r\n';
  if (connectionOption !== '') head += `connection: ${connectionOption}\r\n`;
  return `${head}date: ${date}\r\n\r\n`;
}

/** An interim response: neither date nor framing. */
export function interimHead(status: number, headers: HeaderList): string {
  return `HTTP/1.1 ${status} ${statusTexts.get(status) ?? ''}\r\n${fieldLines(headers)}\r\n`;
}

export function fieldLines(headers: HeaderList): string {
  let lines = '';
  for (let at = 0; at < headers.length; at++) {
    const field = headers[at] as readonly [string, string];
    const name = field[0];
    const value = field[1];
    if (isTransportField(name)) continue;
    mustBeSendable(name, value);
    lines += `${name}: ${value}\r\n`;
  }
  return lines;
}
