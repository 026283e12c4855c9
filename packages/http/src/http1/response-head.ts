import { isTransportField, mustBeSendable } from '@millrace/http2';
import type { HeaderList } from '../exchange.ts';
import { copiedBytesMax } from '../wire/output.ts';
import { statusTexts } from './refusal.ts';

/** How the end of a response's body is marked. */
export type Framing = 'length' | 'chunked' | 'close' | 'none';

const noBytes = Buffer.alloc(0);

export type ConnectionOption = '' | 'close' | 'keep-alive';

/** A response's head as text. Throws when a field may not be sent. */
export function responseHead(
  status: number,
  headers: HeaderList,
  framing: Framing,
  lengthBytes: number,
  connectionOption: ConnectionOption,
  date: string,
): string {
  let head = `HTTP/1.1 ${status} ${statusTexts.get(status) ?? ''}\r\n${fieldLines(headers)}`;
  if (framing === 'length') head += `content-length: ${lengthBytes}\r\n`;
  else if (framing === 'chunked') head += 'transfer-encoding: chunked\r\n';
  if (status === 426) {
    // A 426 must name the protocol (RFC 9110, 15.5.22), and there is one that connections are upgraded to.
    head += `upgrade: websocket\r\nconnection: ${connectionOption === '' ? 'upgrade' : `upgrade, ${connectionOption}`}\r\n`;
  } else if (connectionOption !== '') head += `connection: ${connectionOption}\r\n`;
  return `${head}date: ${date}\r\n\r\n`;
}

/**
 * The last response head of a connection. A handler that returns the same list of fields again is trusted not to have
 * changed it, so that an equal head is neither checked nor written again.
 */
export class ResponseHeads {
  #status = 0;
  #headers: HeaderList | undefined = undefined;
  #framing: Framing = 'none';
  #lengthBytes = 0;
  #option: ConnectionOption = '';
  #date = '';
  #bytes: Buffer = noBytes;

  /** Valid until the next call; an output copies it or refers to it. Throws when a field may not be sent. */
  lendBytes(
    status: number,
    headers: HeaderList,
    framing: Framing,
    lengthBytes: number,
    option: ConnectionOption,
    date: string,
  ): Buffer {
    const isSame =
      headers === this.#headers &&
      lengthBytes === this.#lengthBytes &&
      date === this.#date &&
      status === this.#status &&
      framing === this.#framing &&
      option === this.#option;
    if (isSame) return this.#bytes;
    const head = responseHead(status, headers, framing, lengthBytes, option, date);
    // Allocated on its own: a slice of Buffer's pool would keep the whole block alive on an idle connection. An
    // output refers to what it does not copy.
    if (this.#bytes.length !== head.length || head.length > copiedBytesMax) {
      this.#bytes = Buffer.allocUnsafeSlow(head.length);
    }
    this.#bytes.write(head, 'latin1');
    this.#status = status;
    this.#headers = headers;
    this.#framing = framing;
    this.#lengthBytes = lengthBytes;
    this.#option = option;
    this.#date = date;
    return this.#bytes;
  }

  /** The bytes lent last belong to a write that is not done: they are not overwritten. */
  leave(): void {
    this.#bytes = noBytes;
    this.#headers = undefined;
  }
}

/** An interim response: without date or framing. */
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
