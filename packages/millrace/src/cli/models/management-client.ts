/** A client of the management API of a running server. */
import { type JsonObject, type JsonValue, stringifyJson } from '@millrace/protocol';
import { CommandFailure } from '../command-failure.ts';
import { callServer, objectFrom, refusalText, type ServerAddress, type ServerAnswer } from '../server-call.ts';

const basePath = '/v1/management';

export interface ManagementCall {
  readonly method: 'DELETE' | 'GET' | 'PATCH' | 'POST' | 'PUT';
  /** Below the path of the management API; each part before URL encoding. */
  readonly path: readonly string[];
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: JsonValue;
  readonly ifRevision?: number | undefined;
}

export class ManagementClient {
  readonly #address: ServerAddress;

  constructor(address: ServerAddress) {
    this.#address = address;
  }

  /** The answer of the server; an empty object if it has no body. Throws a `CommandFailure`. */
  async call({ method, path, query = {}, body, ifRevision }: ManagementCall): Promise<JsonObject> {
    const search = new URLSearchParams(query).toString();
    const target = [basePath, ...path.map(encodeURIComponent)].join('/') + (search === '' ? '' : `?${search}`);
    const answer = await callServer(this.#address, target, {
      method,
      headers: {
        'content-type': 'application/json',
        ...(ifRevision === undefined ? {} : { 'if-match': `"${ifRevision}"` }),
      },
      ...(body === undefined ? {} : { body: stringifyJson(body) }),
    });
    if (answer.status < 200 || answer.status > 299) throw this.#failureFrom(answer);
    return answer.body.length === 0 ? {} : objectFrom(answer.body);
  }

  #failureFrom({ status, headers, body }: ServerAnswer): CommandFailure {
    const { url } = this.#address;
    const code = headers.get('millrace-error-code');
    if (code === 'not-found') {
      return new CommandFailure(`${url} offers no management: ${reasonIn(body)}; give its address with --url`);
    }
    const hint = code === 'conflict' ? ' (millrace models traffic shows it)' : '';
    return new CommandFailure(`${refusalText(status, body)}${hint}`);
  }
}

/** The reason the server gives: management is off, or served elsewhere. */
function reasonIn(body: Uint8Array): string {
  try {
    const { error } = objectFrom(body);
    if (typeof error === 'string' && error.startsWith('management is')) return error;
  } catch {
    // Some other server, or one that gives no reason.
  }
  return 'it may be turned off (management.enabled) or on a port of its own (management.port)';
}
