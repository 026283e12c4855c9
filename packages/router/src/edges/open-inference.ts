/** What an edge of the Open Inference Protocol stands on and offers, whatever it is spoken over. */

import type { Catalogue, Health } from '../catalogue/catalogue.ts';
import type { DataPlane } from '../data-plane/infer.ts';
import type { Management } from '../management/management.ts';
import type { Statistics } from '../management/statistics.ts';
import type { ServerIdentity } from './server-identity.ts';

export interface OpenInferenceParts {
  readonly dataPlane: DataPlane;
  readonly catalogue: Catalogue;
  readonly health: Health;
  readonly server: ServerIdentity;
  /** Without them there is no call that tells them. */
  readonly statistics?: Statistics | undefined;
  /** Without it models cannot be loaded and unloaded by this protocol. */
  readonly management?: Management | undefined;
}

/** Beyond the protocol's core, as Triton's server metadata names them. */
const ownExtensions: readonly string[] = [
  'binary_tensor_data',
  'classification',
  'model_configuration',
  'parameters',
  'schedule_policy',
  'sequence',
  'sequence(string_id)',
];

const repositoryExtensions: readonly string[] = ['model_repository', 'model_repository(unload_dependents)'];

/** What the metadata of the server lists. */
export function extensionsOf({ management, server, statistics }: OpenInferenceParts): string[] {
  const offered = [
    ...ownExtensions,
    ...(management === undefined ? [] : repositoryExtensions),
    ...(statistics === undefined ? [] : ['statistics']),
    ...(server.extensions ?? []),
  ];
  return [...new Set(offered)];
}
