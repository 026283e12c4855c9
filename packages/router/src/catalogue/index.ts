/** The catalogue without a server around it: for those who only want to know what a name means. */

export { ServedModel } from '../data-plane/served-model.ts';
export type { ResolvedModel } from '../data-plane/traffic/model-names.ts';
export { ServedModels } from './served-models.ts';
export { TrafficCatalogue, type TrafficCatalogueParts } from './traffic/traffic-catalogue.ts';
export { trafficAfter } from './traffic/traffic-change.ts';
export type { TrafficChange, TrafficPolicy } from './traffic/traffic-policy.ts';
