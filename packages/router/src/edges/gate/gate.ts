/**
 * The check that every request of every port must pass: it names a host of this server, and no page of another
 * origin made a browser send it. Without this, any web page that is opened on this machine could call the server.
 */
import type { RequestGate, WireExchange, WireHandler } from '@millrace/http';
import type { AllowedHosts } from './allowed-hosts.ts';
import { isManagementPath } from './management-paths.ts';
import { type AllowedOrigins, isSimplePost, originField, pageCallerOf, siteField } from './page-caller.ts';
import { type GateRefusal, refuseRequest } from './refuse-request.ts';

export interface GateOptions {
  readonly hosts: AllowedHosts;
  /** Pages that may run inference; none of them may manage. */
  readonly origins: AllowedOrigins;
  /** Why management is not served here; undefined: it is. */
  readonly managementRefusal?: string | undefined;
  /** Called for each request refused because of its host or its page. */
  readonly onRefused?: ((message: string) => void) | undefined;
}

/** Limits of the cache of allowed authorities: their number, and the length of one. Clients repeat the same few. */
const knownAuthoritiesMax = 64;
const knownCharactersMax = 256;

/** Longest quotation of a client's text in an error message. */
const toldCharactersMax = 100;

export function createGate(options: GateOptions): RequestGate {
  const { hosts, origins, managementRefusal, onRefused = () => {} } = options;
  /** Copies, so that they do not keep the text of a request in memory. */
  const known = new Map<string, string>();
  /** The authority of the last request that had an allowed one. */
  let last = '';

  const isHostAllowed = (authority: string): boolean => {
    let own = known.get(authority);
    if (own === undefined) {
      if (!hosts.allows(authority)) return false;
      if (authority.length > knownCharactersMax) return true;
      own = ownText(authority);
      if (known.size === knownAuthoritiesMax) known.clear();
      known.set(own, own);
    }
    last = own;
    return true;
  };

  const refused = (message: string): WireHandler => {
    onRefused(message);
    return refusalOf({ code: 'forbidden', message });
  };

  return (exchange) => {
    const { authority, headers } = exchange;
    if (!hosts.isOpen && authority !== last && !isHostAllowed(authority)) return refused(hostText(authority));
    const { fields } = headers;
    for (let at = 0; at < fields.length; at++) {
      const name = (fields[at] as (typeof fields)[number]).name;
      // Lengths first: they differ for nearly all names, and comparing them costs nothing.
      if ((name.length === 6 && name === originField) || (name.length === 14 && name === siteField)) {
        const message = pageProblem(exchange, origins);
        if (message !== undefined) return refused(message);
        break;
      }
    }
    if (managementRefusal !== undefined && isManagementPath(exchange.path)) {
      return refusalOf({ code: 'not-found', message: managementRefusal });
    }
    return undefined;
  };
}

function pageProblem(exchange: WireExchange, origins: AllowedOrigins): string | undefined {
  const caller = pageCallerOf(exchange, origins);
  const isManagement = isManagementPath(exchange.path);
  if (caller === 'foreign' || (caller === 'listed' && isManagement)) return originText(exchange, isManagement);
  // Typed addresses and links do not post; and requests that change the server need a preflight, also from our own pages.
  if ((caller === 'person' || (caller === 'own' && isManagement)) && isSimplePost(exchange)) return simpleText;
  return undefined;
}

const simpleText =
  'a browser may post this only with a content type that pages of other sites cannot send, for example content-type: application/json';

function hostText(authority: string): string {
  return `this server does not answer for the host ${told(authority)}; if that is one of its names, add it to server.allowedHosts (--allowed-hosts)`;
}

function originText({ headers }: WireExchange, isManagement: boolean): string {
  const origin = headers.get(originField);
  const page = origin === undefined ? 'a page of another site' : `a page of the origin ${told(origin)}`;
  if (isManagement) return `${page} may not manage this server; http.corsOrigins lets pages run inference only`;
  return `${page} may not call this server; to let it run inference, add its origin to http.corsOrigins (--cors-origins)`;
}

function told(text: string): string {
  return JSON.stringify(text.length <= toldCharactersMax ? text : `${text.slice(0, toldCharactersMax)}…`);
}

function refusalOf(refusal: GateRefusal): WireHandler {
  return (exchange) => refuseRequest(exchange, refusal);
}

/** A copy in memory of its own: an authority is mostly a slice of a request head, which must not be kept alive by it. */
function ownText(text: string): string {
  return Buffer.from(text, 'latin1').toString('latin1');
}
