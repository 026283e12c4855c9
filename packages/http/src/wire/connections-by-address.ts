import { CountRanking } from './count-ranking.ts';
import { ConnectionAddress, type LimitedConnection } from './limited-connection.ts';

/** How many addresses are searched for an idle connection: those with the most connections, or with the most handshakes. */
const addressesMax = 8;

/** Addresses with their connections, those with the most first. */
export class ConnectionsByAddress {
  connections = 0;
  handshakes = 0;
  readonly #addresses = new Map<string, ConnectionAddress>();
  readonly #byConnections = new CountRanking<ConnectionAddress>();
  readonly #byHandshakes = new CountRanking<ConnectionAddress>();

  addressOf(owner: string, isTrustedProxy: boolean): ConnectionAddress {
    const known = this.#addresses.get(owner);
    if (known !== undefined) return known;
    const address = new ConnectionAddress(owner, isTrustedProxy);
    this.#addresses.set(owner, address);
    return address;
  }

  enter(guest: LimitedConnection, isHandshaking: boolean, nowMs: number): void {
    const { address } = guest;
    // An eviction may have emptied it since the lookup.
    this.#addresses.set(address.owner, address);
    this.connections++;
    this.#byConnections.increase(address);
    if (!isHandshaking) {
      address.established.append(guest, nowMs);
      return;
    }
    this.handshakes++;
    this.#byHandshakes.increase(address);
    address.handshakes.append(guest, nowMs);
  }

  establish(guest: LimitedConnection, nowMs: number): void {
    if (guest.list !== guest.address.handshakes) return;
    this.#endHandshake(guest);
    guest.address.established.append(guest, nowMs);
  }

  leave(guest: LimitedConnection): void {
    const { address, list } = guest;
    if (list === undefined) return;
    if (list === address.handshakes) this.#endHandshake(guest);
    else list.remove(guest);
    this.connections--;
    this.#byConnections.decrease(address);
    this.forgetIfEmpty(address);
  }

  forgetIfEmpty(address: ConnectionAddress): void {
    if (address.count === 0) this.#addresses.delete(address.owner);
  }

  takeIdle(beforeMs: number, nowMs: number): LimitedConnection | undefined {
    for (const address of this.#byConnections.first(addressesMax)) {
      const guest = address.takeIdle(beforeMs, nowMs);
      if (guest !== undefined) return guest;
    }
    return undefined;
  }

  takeStalledHandshake(beforeMs: number): LimitedConnection | undefined {
    for (const address of this.#byHandshakes.first(addressesMax)) {
      const guest = address.takeStalledHandshake(beforeMs);
      if (guest !== undefined) return guest;
    }
    return undefined;
  }

  #endHandshake(guest: LimitedConnection): void {
    guest.address.handshakes.remove(guest);
    this.handshakes--;
    this.#byHandshakes.decrease(guest.address);
  }
}
