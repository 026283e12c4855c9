/** `Generate` as browsers call it, over HTTP/1.1: gRPC-Web in protobuf and Connect in JSON. */
import { Agent, type IncomingMessage, request } from 'node:http';
import type { DialectLink, DialectListener, StreamDialect } from './dialect.ts';
import { type FrameCodec, jsonCodec, protobufCodec } from './frame-codec.ts';
import { codeFromDetails } from './status-details.ts';

interface WebProtocol {
  readonly name: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly codec: FrameCodec;
  /** Of the envelope that ends the call. */
  readonly endFlag: number;
  /** The code of the error catalogue in that envelope; undefined: the call ended without an error. */
  codeFrom(end: string): string | undefined;
}

export const grpcWebGenerate: StreamDialect = webDialect({
  name: 'grpc-web Generate',
  headers: { 'content-type': 'application/grpc-web+proto', 'x-grpc-web': '1' },
  codec: protobufCodec,
  endFlag: 0x80,
  codeFrom: (end) => {
    const fields = new Map(end.split('\r\n').map((line) => line.split(/: ?/, 2) as [string, string]));
    if (fields.get('grpc-status') === '0') return undefined;
    return codeFromDetails(Buffer.from(fields.get('grpc-status-details-bin') ?? '', 'base64'));
  },
});

export const connectGenerate: StreamDialect = webDialect({
  name: 'connect Generate',
  headers: { 'content-type': 'application/connect+json', 'connect-protocol-version': '1' },
  codec: jsonCodec,
  endFlag: 2,
  codeFrom: (end) => {
    const { error } = JSON.parse(end) as { readonly error?: { readonly details?: readonly { value: string }[] } };
    return error && codeFromDetails(Buffer.from(error.details?.[0]?.value ?? '', 'base64'));
  },
});

function webDialect(protocol: WebProtocol): StreamDialect {
  return {
    name: protocol.name,
    hasOneInput: true,
    connect(address, open, listener) {
      const call = new WebCall(address, protocol, listener);
      return {
        send: (frame) => {
          if (frame.kind === 'input') call.begin(protocol.codec.encodeGenerate(open, frame));
        },
        close: () => call.close(),
      };
    },
  };
}

class WebCall implements Pick<DialectLink, 'close'> {
  readonly #address: string;
  readonly #protocol: WebProtocol;
  readonly #listener: DialectListener;
  readonly #agent = new Agent();
  #bytes = Buffer.alloc(0);
  #hasBegun: boolean = false;
  #isOver: boolean = false;

  constructor(address: string, protocol: WebProtocol, listener: DialectListener) {
    this.#address = address;
    this.#protocol = protocol;
    this.#listener = listener;
  }

  /** Once: the input is the whole request. */
  begin(message: Buffer): void {
    if (this.#hasBegun || this.#isOver) return;
    this.#hasBegun = true;
    const head = Buffer.alloc(5);
    head.writeUInt32BE(message.length, 1);
    const sent = request(
      `http://${this.#address}/millrace.v1.InferenceService/Generate`,
      { method: 'POST', agent: this.#agent, headers: this.#protocol.headers },
      (response) => this.#listen(response),
    );
    sent.on('error', (error) => this.#over('', error.message));
    sent.end(Buffer.concat([head, message]));
  }

  close(): void {
    this.#isOver = true;
    this.#agent.destroy();
  }

  #listen(response: IncomingMessage): void {
    const { statusCode } = response;
    if (statusCode !== 200) this.#over(`status ${statusCode}`, 'the call was refused');
    response.on('error', () => {});
    response.on('data', (bytes: Buffer) => this.#read(bytes));
    response.on('close', () => this.#over('', 'the response broke off'));
  }

  #read(bytes: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, bytes]);
    while (!this.#isOver && this.#bytes.length >= 5) {
      const end = 5 + this.#bytes.readUInt32BE(1);
      if (this.#bytes.length < end) return;
      const flag = this.#bytes[0];
      const message = this.#bytes.subarray(5, end);
      this.#bytes = this.#bytes.subarray(end);
      if (flag === this.#protocol.endFlag) this.#end(message.toString('latin1'));
      else this.#listener.onFrame(this.#protocol.codec.decode(message));
    }
  }

  /** Every error of the server has a code of the catalogue; an end without one means that the client must resume. */
  #end(text: string): void {
    const code = this.#protocol.codeFrom(text);
    this.#over(code === '' ? 'error without a code' : (code ?? ''), text);
  }

  #over(code: string, message: string): void {
    if (this.#isOver) return;
    this.close();
    this.#listener.onClosed(code, message);
  }
}
