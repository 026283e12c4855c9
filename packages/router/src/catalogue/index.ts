/** The catalogue without a server around it: for those who only want to know what a name means. */

export type { ResolvedModel } from '../data-plane/contexts/model-names.ts';
export { ServedModel } from '../data-plane/served-model.ts';
export { Contexts, type ContextsParts } from './contexts/contexts.ts';
export { trafficAfter } from './contexts/traffic-change.ts';
export type { TrafficChange, TrafficPolicy } from './contexts/traffic-policy.ts';
export { ServedModels } from './served-models.ts';
