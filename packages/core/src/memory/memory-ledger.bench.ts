/**
 * Budget: 50 ns a small request. Run with `npx vitest bench packages/core/src/memory`. One iteration of the first group is
 * 1,000 small requests, so divide by 1,000. The baseline beside it creates the lease and counts its bytes up and down,
 * which no ledger can avoid. In the second group a release must cost the same however many leases wait.
 */
import { bench, describe } from 'vitest';
import { resolveMemoryLimits } from './memory-config.ts';
import type { LedgerHolder } from './memory-lease.ts';
import { MemoryLedger } from './memory-ledger.ts';
import type { LedgerConnection } from './memory-owner.ts';

const requests = 1000;
const holder: LedgerHolder = { onMemory: () => {} };
const limits = resolveMemoryLimits();

function smallRequest(connection: LedgerConnection): void {
  const lease = connection.lease(holder);
  lease.hold(2048);
  lease.hold(600);
  lease.complete();
  lease.end();
}

describe('1,000 small requests', () => {
  const ledger = new MemoryLedger(limits);
  const connection = ledger.connection('a');
  bench('ledger, of a connection', () => {
    for (let index = 0; index < requests; index++) smallRequest(connection);
  });

  bench('ledger, of a caller behind a gateway', () => {
    for (let index = 0; index < requests; index++) smallRequest(ledger.guest('caller'));
  });

  const pool = { used: 0 };
  bench('yardstick', () => {
    for (let index = 0; index < requests; index++) {
      const lease = { pool, holder, heldBytes: 0 };
      for (const bytes of [2048, 600]) {
        lease.heldBytes += bytes;
        lease.pool.used += bytes;
      }
      lease.pool.used -= lease.heldBytes;
    }
  });
});

const kibibyte = 1024;

/** Enough memory that many can wait, all of it taken. */
function crowdedLedger(owners: number, leasesPerOwner: number): MemoryLedger {
  const ledger = new MemoryLedger({ ...limits, sharedBytes: 2 ** 44, overdraftBytesMax: Infinity });
  for (let owner = 0; owner <= owners; owner++) {
    const connection = ledger.connection(`owner-${owner}`);
    const filler = connection.lease(holder);
    for (let bytes = 2 ** 43; bytes >= kibibyte; bytes /= 2) if (filler.hasRoomFor(bytes)) filler.count(bytes);
    for (let index = 0; index < leasesPerOwner; index++) connection.lease(holder).hold(65 * kibibyte);
  }
  return ledger;
}

describe('a bystander takes and gives back 100 KiB 1,000 times', () => {
  for (const [owners, leases] of [
    [1, 0],
    [1, 10_000],
    [10_000, 1],
  ] as const) {
    const ledger = crowdedLedger(owners, leases);
    const lease = ledger.connection('bystander').lease(holder);
    lease.count(200 * kibibyte);
    bench(`beside ${ledger.waitingCount} waiting leases of ${owners} owners`, () => {
      for (let index = 0; index < requests; index++) {
        lease.count(100 * kibibyte);
        lease.give(100 * kibibyte);
      }
    });
  }
});
