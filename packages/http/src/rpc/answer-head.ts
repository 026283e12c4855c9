import type { HeaderList } from '../exchange.ts';
import type { CallMachine } from './call-machine.ts';

/** The head of an answer: the fields of the protocol, of the handler and of CORS. */
export function answerHead(call: CallMachine, own: HeaderList): HeaderList {
  const leading = call.leadingFields;
  const { cors } = call.host;
  if (cors === undefined) return leading.length === 0 ? own : [...own, ...leading];
  const fields = [...own, ...leading];
  return [...fields, ...cors.answerFields(call.exchange.headers, fields)];
}
