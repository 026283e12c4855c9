/**
 * A world in which the bug shows, for bugs that the first worlds do not show. It is tried before the others, since the search is most of
 * what the test of a bug takes. Where a change moved the bug to other worlds, the test still finds it, and only takes longer.
 */
export const knownWorlds: Readonly<Record<string, number>> = {
  'a scheduler that forgets the neighbour of a cancelled request': 4,
  'a scheduler that forgets the batch that it holds back': 14,
  'a scheduler that never holds a batch back': 14,
  'a scheduler that does not know preferred sizes': 34,
  'a scheduler that holds back what is over the largest preferred size': 35,
  'a scheduler that does not keep answers in order': 10,
  'a scheduler that delivers the first of a batch last': 10,
  'a scheduler that takes a level that does not exist for the last one': 30,
  'a scheduler that sees timeouts only when a worker is free': 16,
  'a scheduler that refuses who should be delayed': 5,
  'a scheduler that does not hear how long a request wants to wait': 16,
  'a scheduler that has no bound on a level': 29,
  'a scheduler that serves callers in the order of arrival': 14,
  'a scheduler that takes weights the wrong way round': 333,
  'a scheduler that gives a worker work that it is too good for': 280,
  'a scheduler that lets a caller have one too many': 25,
  'a scheduler that opens breakers and does not say so': 35,
  'a keeper that takes what it evicts for idle': 7,
  'a keeper that fills twice the budget': 26,
  'a keeper that loads one more at once than it may': 6,
  'a keeper that knows no pins': 109,
  'a keeper that never asks to be woken': 19,
  'a keeper that does not hear of every load': 6,
  'a registry that prefers the oldest version': 14,
  'a registry that sends requests to what was evicted': 20,
  'an ensemble whose steps lose the deadline of the caller': 72,
  'a cache that outlives the revision of its model': 51,
  'a stream that loses the second answer': 6,
};
