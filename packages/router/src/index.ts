export * from './data-plane/infer.ts';
export * from './registry/catalogue.ts';
