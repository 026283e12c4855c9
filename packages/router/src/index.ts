export * from './data-plane/infer.ts';
export * from './dispatch/local-lane/local-lane.ts';
export * from './registry/catalogue.ts';
