export * from './cancellation.ts';
export * from './datatypes.ts';
export * from './dispatch/lane.ts';
export * from './dispatch/messages.ts';
export * from './errors.ts';
export * from './tensor.ts';
