/** The catalogue on its own: for code that only resolves the names of models. */

export { ServedModel } from '../data-plane/served-model.ts';
export type { ResolvedModel } from '../data-plane/traffic/model-names.ts';
export { ServedModels } from './served-models.ts';
export { TrafficCatalogue, type TrafficCatalogueParts } from './traffic/traffic-catalogue.ts';
export { trafficAfter } from './traffic/traffic-change.ts';
export type { TrafficChange, TrafficPolicy } from './traffic/traffic-policy.ts';
