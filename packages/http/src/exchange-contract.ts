/**
 * The behaviour that handlers rely on in every transport. A transport is given as something that opens a server for a handler
 * and lets a client call it; the suite knows nothing of sockets, so an injected call passes it as it stands.
 */
import { afterEach, describe } from 'vitest';
import { endingTests } from './exchange-contract/endings.ts';
import { releaseTests } from './exchange-contract/release.ts';
import { requestTests } from './exchange-contract/requests.ts';
import { responseTests } from './exchange-contract/responses.ts';
import type { ContractServer, ExchangeHarness, OpenContractServer } from './exchange-contract/subject.ts';

export type {
  ContractCall,
  ContractReply,
  ContractServer,
  OpenContractServer,
  SlowReply,
} from './exchange-contract/subject.ts';

export function describeExchange(name: string, open: OpenContractServer): void {
  describe(`${name} keeps the exchange contract`, () => {
    const errors: unknown[] = [];
    let server: ContractServer | undefined;
    const bench: ExchangeHarness = {
      errors,
      serve: async (handler) => {
        server = await open(handler, (error) => errors.push(error));
        return server;
      },
      close: async () => {
        const open = server;
        server = undefined;
        await open?.close();
      },
    };
    afterEach(async () => {
      await bench.close();
      errors.length = 0;
    });

    describe('requests', () => requestTests(bench));
    describe('responses', () => responseTests(bench));
    describe('release', () => releaseTests(bench));
    describe('endings', () => endingTests(bench));
  });
}
