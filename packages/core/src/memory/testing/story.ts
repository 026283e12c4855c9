import type { MemoryLimits } from '../memory-config.ts';
import type { LedgerHolder, LedgerLease } from '../memory-lease.ts';
import { MemoryLedger } from '../memory-ledger.ts';
import type { LedgerConnection } from '../memory-owner.ts';

/** Round numbers, so that shares can be checked by hand. */
export const storyLimits: MemoryLimits = {
  sharedBytes: 1_000_000,
  smallBytes: 10_000,
  completionBytes: 400_000,
  smallRequestBytesMax: 1000,
  overdraftBytesMax: 50_000,
};

/** Notes when it is told to go on. */
export class ToldHolder implements LedgerHolder {
  toldCount = 0;
  onTold: () => void = () => {};

  onMemory(): void {
    this.toldCount += 1;
    this.onTold();
  }
}

export function ledgerOf(limits: Partial<MemoryLimits> = {}): MemoryLedger {
  return new MemoryLedger({ ...storyLimits, ...limits });
}

export function leaseOf(connection: LedgerConnection): [lease: LedgerLease, holder: ToldHolder] {
  const holder = new ToldHolder();
  return [connection.lease(holder), holder];
}

/** A lease that takes the part set aside for completion, by an owner of its own that has all it may have. */
export function takeFavour(ledger: MemoryLedger): LedgerLease {
  const connection = ledger.connection('favoured');
  const [filler] = leaseOf(connection);
  filler.hold(227_000);
  const [favoured] = leaseOf(connection);
  favoured.hold(2000);
  return favoured;
}
