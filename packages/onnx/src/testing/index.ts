export { knownOperators } from '../rows/operators/operator-table.ts';
export * from './model-bytes.ts';
