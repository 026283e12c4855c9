/** The registry without a server around it: for those who only want to know what a name means. */
export { ServedModel } from '../data-plane/served-model.ts';
export { Contexts, type ContextsParts, type ResolvedModel } from './contexts/contexts.ts';
export { trafficAfter } from './contexts/traffic-change.ts';
export type { TrafficChange, TrafficPolicy } from './management.ts';
export { ServedModels } from './served-models.ts';
