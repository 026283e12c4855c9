/**
 * Budget: for a request of a program, with a host seen before, the gate takes at most a hundredth of the time that a
 * request without a model costs a server: some tens of nanoseconds.
 */
import type { RequestGate, WireExchange } from '@millrace/http';
import { HeaderField } from '@millrace/http/internal';
import { bench, describe } from 'vitest';
import { AllowedHosts } from './allowed-hosts.ts';
import { createGate } from './gate.ts';

const names = [
  'content-type',
  'te',
  'grpc-accept-encoding',
  'user-agent',
  'accept-encoding',
  'content-length',
  'accept',
];
const fields = names.map((name) => new HeaderField(name, 'application/grpc', 0, true));
const hosts = new AllowedHosts({ listed: [], written: '127.0.0.1', bound: '127.0.0.1' });
const gate: RequestGate = createGate({ hosts, origins: [] });
const guarded: RequestGate = createGate({ hosts, origins: [], managementRefusal: 'off' });
const exchange = {
  method: 'POST',
  path: '/inference.GRPCInferenceService/ModelInfer',
  // As it comes from a head: a text of its own each time, not the same object.
  authority: Buffer.from('127.0.0.1:8001').toString('latin1'),
  headers: { fields },
} as unknown as WireExchange;
gate(exchange);
guarded(exchange);

describe('a thousand requests', () => {
  bench('through the gate', () => {
    for (let at = 0; at < 1000; at++) gate(exchange);
  });
  bench('through the gate of a port without management', () => {
    for (let at = 0; at < 1000; at++) guarded(exchange);
  });
});
