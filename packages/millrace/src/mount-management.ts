/** Where management can be reached: on the ports of the inference API, on a port or socket of its own, or nowhere. */
import {
  createRpcHandler,
  type HttpHandler,
  type RpcHandlerOptions,
  type WireHandler,
  wireHandlerFrom,
} from '@millrace/http';
import type { Management } from '@millrace/router';
import {
  type AddedService,
  createManagementEdge,
  createManagementPort,
  type ManagementOptions,
  type Route,
  type SliceQueue,
} from '@millrace/router/edges';
import type { Config } from './config/fields.ts';
import { managementListenerOf } from './management-listener.ts';
import { version } from './version.ts';

export interface ManagementMount {
  /** For the edges of the inference ports; undefined: they do not serve management. */
  readonly shared: SharedManagement | undefined;
  /** For a port or socket of its own. */
  readonly own: OwnManagement | undefined;
}

export interface SharedManagement {
  /** For Triton's repository calls. */
  readonly management: Management;
  readonly routes: readonly Route[];
  readonly services: readonly AddedService[];
}

export interface OwnManagement {
  readonly handler: WireHandler;
  /** Ends calls that stay open as long as the server, such as watches. */
  end(): void;
}

export interface MountParts {
  readonly management: Management;
  readonly config: Pick<Config, 'http' | 'management' | 'server'>;
  /** As for the inference ports, except that pages of other origins may not call. */
  readonly rpc: Pick<RpcHandlerOptions, 'interceptors'>;
  /** Around every REST call, as on the inference ports. */
  readonly withLog: (handler: HttpHandler) => HttpHandler;
  /** Divides the work on large bodies of all edges into slices that take turns. */
  readonly slices: SliceQueue;
  readonly onError: (error: unknown) => void;
}

export function mountManagement(parts: MountParts): ManagementMount {
  const { management, config, slices, onError } = parts;
  const listener = managementListenerOf(config);
  if (listener.kind === 'off') return { shared: undefined, own: undefined };
  const { bodyBytesMax, jsonBytesMax } = config.http;
  const limits: ManagementOptions = { loadBytesMax: bodyBytesMax };
  if (listener.kind === 'shared') {
    const { routes, service } = createManagementEdge({ management, limits, slices, onError });
    return { shared: { management, routes, services: [service] }, own: undefined };
  }
  const port = createManagementPort({
    management,
    limits,
    restLimits: { bodyBytesMax, jsonBytesMax },
    server: { name: config.server.id, version },
    slices,
    onError,
  });
  const handler = createRpcHandler(port.services, {
    interceptors: parts.rpc.interceptors ?? [],
    errorFrom: (error) => port.errorFrom(error),
    onError,
    receiveBytesMax: bodyBytesMax,
    next: wireHandlerFrom(parts.withLog(port.rest), onError),
  });
  return { shared: undefined, own: { handler, end: () => port.end() } };
}
