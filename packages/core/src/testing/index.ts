/** What tests and benches of other packages take from here. Not shipped. */
export { runScenario } from './run-scenario.ts';
export { bestFixed, FullLoad, type SimulatedBatch, type SimulatedModel } from './simulated-model.ts';
