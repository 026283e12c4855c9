export * from './answer.ts';
export * from './exchange.ts';
export * from './inject/inject.ts';
export * from './node-http/config.ts';
export * from './node-http/serve.ts';
export * from './raw-header-fields.ts';
