export * from './data-plane/infer.ts';
