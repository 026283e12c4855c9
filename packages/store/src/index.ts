export { LazyJournal } from './journal/lazy-journal.ts';
export * from './journal.ts';
export * from './lmdb/lmdb-journal.ts';
export * from './lmdb/lmdb-store.ts';
export * from './memory/memory-journal.ts';
export * from './memory/memory-store.ts';
export * from './metadata.ts';
export * from './store-clock.ts';
export * from './store-error.ts';
