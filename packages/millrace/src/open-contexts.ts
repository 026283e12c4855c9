/** Puts labels, splits and shadows between the edges and the data plane. Both the server and the embedding API stand on it. */
import {
  ContextDataPlane,
  Contexts,
  defaultShadowLimits,
  type ShadowOutcome,
  ShadowTraffic,
  TrafficTable,
} from '@millrace/router/internal';
import type { MetadataStore } from '@millrace/store';
import type { Assembly } from './assemble.ts';
import type { Config } from './config/fields.ts';

export interface ContextParts {
  readonly assembly: Pick<Assembly, 'models' | 'dataPlane'>;
  readonly store: MetadataStore;
  readonly config: Pick<Config, 'shadow'>;
  readonly onShadow: (model: string, version: string, outcome: ShadowOutcome) => void;
  readonly onUnreadable: (key: string) => void;
}

/** What the edges stand on. */
export interface ContextLayer {
  readonly traffic: TrafficTable;
  readonly contexts: Contexts;
  readonly dataPlane: ContextDataPlane;
  /** No copies are sent any more, and those on their way are given up. */
  endShadows(): void;
  close(): void;
}

export async function openContexts(parts: ContextParts): Promise<ContextLayer> {
  const { assembly, store, config, onShadow, onUnreadable } = parts;
  const { models, dataPlane } = assembly;
  const traffic = await TrafficTable.open({ store, catalogue: models, onUnreadable });
  const contexts = new Contexts({ catalogue: models, traffic });
  const shadows = new ShadowTraffic({
    dataPlane,
    sliced: dataPlane.sliced,
    limits: { ...defaultShadowLimits, ...config.shadow },
    lowestPriority: (model, version) => models.takeModel(model, version)?.policy.queues.length ?? 1,
    onOutcome: onShadow,
  });
  const front = new ContextDataPlane({
    dataPlane,
    names: contexts,
    shadows,
    takeVersionHolding: (request) => dataPlane.takeVersionHolding(request),
    random: Math.random,
  });
  dataPlane.resolvePartsBy((request) => front.resolved(request));
  return {
    traffic,
    contexts,
    dataPlane: front,
    endShadows: () => shadows.close(),
    close: () => {
      shadows.close();
      contexts.close();
      traffic.close();
    },
  };
}
