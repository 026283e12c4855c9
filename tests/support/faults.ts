/** What makes tests/support/faulty-worker.ts fail. */
export const poisonValue = 666;
/** Beside a model's file: loading it ends the worker. */
export const crashFile = 'crash-on-load';
/** Beside a model's file: loading it never ends. */
export const hangFile = 'hang-on-load';
