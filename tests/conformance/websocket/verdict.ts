/**
 * Judges the report of the Autobahn test suite: no case may have failed, and none may be missing.
 * Usage: node verdict.js INDEX_JSON CASES
 */
import { readFileSync } from 'node:fs';

interface CaseReport {
  readonly behavior: string;
  readonly behaviorClose: string;
}

/** `NON-STRICT`: right, but later than it could be told. `INFORMATIONAL`: the specification leaves it open. */
const passing = new Set(['OK', 'NON-STRICT', 'INFORMATIONAL']);

const [path = '', expected = ''] = process.argv.slice(2);
const report = JSON.parse(readFileSync(path, 'utf8')) as {
  readonly millrace?: Readonly<Record<string, CaseReport>>;
};
const cases = Object.entries(report.millrace ?? {});
const failures = cases.filter(([, one]) => !passing.has(one.behavior) || !passing.has(one.behaviorClose));
for (const [name, { behavior, behaviorClose }] of failures)
  console.log(`case ${name}: ${behavior}, close ${behaviorClose}`);
const counts = new Map<string, number>();
for (const [, { behavior }] of cases) counts.set(behavior, (counts.get(behavior) ?? 0) + 1);
console.log([...counts].map(([behavior, count]) => `${count} ${behavior}`).join(', '));
const missing = Math.abs(Number(expected) - cases.length);
if (missing > 0) console.log(`the suite ran ${cases.length} cases instead of ${expected}`);
const failed = failures.length + missing;
console.log(`${cases.length - failures.length} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;
