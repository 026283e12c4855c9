import type { HeaderList } from '../exchange.ts';
import type { CallMachine } from './call-machine.ts';

/** The head of an answer: the protocol's fields, the handler's, and what a browser wants to see. */
export function answerHead(call: CallMachine, own: HeaderList): HeaderList {
  const leading = call.leadingFields;
  const { cors } = call.host;
  if (cors === undefined) return leading.length === 0 ? own : [...own, ...leading];
  const fields = [...own, ...leading];
  return [...fields, ...cors.answerFields(call.exchange.headers, fields)];
}
