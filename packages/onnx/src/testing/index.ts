export * from './model-bytes.ts';
