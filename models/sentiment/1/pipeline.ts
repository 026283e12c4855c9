export { default } from '../pipeline.ts';
