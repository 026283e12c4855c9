/** How much memory the server may hold and how long it may compute. Used by the verdict and for the arguments of the server, so that they agree. */
import { configFields } from 'millrace';

const mebibyte = 1024 * 1024;

/** The budget that the attacked servers get, where the memory ledger can be set: large enough for one body of 256 MiB. */
const ledgerBytes = 1024 * mebibyte;
const ledgerField = configFields.find(({ path }) => path === 'memory.bytesMax');

/** Arguments that set it. */
export const budgetArguments: readonly string[] =
  ledgerField === undefined ? [] : [`--${ledgerField.field.flag}`, String(ledgerBytes)];

/** All that the router may hold beyond what it holds idle. */
export const budgetBytes = ledgerField === undefined ? 2048 * mebibyte : ledgerBytes;

/** What allocators and the garbage collector may add to it. */
export const budgetSlack = 0.15;

/** Memory that any attack may cost for connections, heads and garbage, where the rest is judged by the bytes it sent. */
export const fixedAllowanceBytes = 128 * mebibyte;

/** Longest delay of the event loop: what we aim at, and what fails on a shared machine. */
export const loopDelayGoalMs = 20;
export const loopDelayMsMax = 100;

/** A bystander's p99 under attack over its calm one: what we aim at. */
export const latencyRatioGoal = 3;

/** Growth of the router's memory under the random attacker, a minute. */
export const slopeBytesPerMinuteMax = 1e6;

/**
 * Time limits of the servers in the short form, so that what is refused by time is refused within an attack of a few seconds; the
 * long form has the defaults.
 */
export const shortTimes: readonly string[] = ['--stall-seconds-max', '3'];
