/** What the edges of the Open Inference Protocol have in common, over any transport. */

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
  /** Without them the statistics extension is not served. */
  readonly statistics?: Statistics | undefined;
  /** Without it models cannot be loaded and unloaded over this protocol. */
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

/** The extensions that the server metadata lists. */
export function extensionsOf({ management, server, statistics }: OpenInferenceParts): string[] {
  const offered = [
    ...ownExtensions,
    ...(management === undefined ? [] : repositoryExtensions),
    ...(statistics === undefined ? [] : ['statistics']),
    ...(server.extensions ?? []),
  ];
  return [...new Set(offered)];
}
