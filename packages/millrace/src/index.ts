export * from './engine.ts';
export type { InputValue, OutputValue, TypedArray } from './tensor-values.ts';
export { version } from './version.ts';
