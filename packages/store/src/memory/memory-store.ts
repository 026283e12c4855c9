/** A metadata store in the memory of its process. */
import type { MetadataStore } from '../metadata.ts';
import { type StoreClock, systemStoreClock } from '../store-clock.ts';
import { TableStore } from '../table-store.ts';
import { MemoryTable } from './memory-table.ts';

export function openMemoryStore(clock: StoreClock = systemStoreClock): Promise<MetadataStore> {
  return TableStore.open(new MemoryTable(), clock);
}
