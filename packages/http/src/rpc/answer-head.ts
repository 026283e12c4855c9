import type { HeaderList } from '../exchange.ts';
import type { Call } from './call.ts';

/** The head of an answer: the protocol's fields, the handler's, and what a browser wants to see. */
export function answerHead(call: Call, own: HeaderList): HeaderList {
  const leading = call.leadingFields;
  const { cors } = call.host;
  if (cors === undefined) return leading.length === 0 ? own : [...own, ...leading];
  const fields = [...own, ...leading];
  return [...fields, ...cors.answerFields(call.exchange.headers, fields)];
}
