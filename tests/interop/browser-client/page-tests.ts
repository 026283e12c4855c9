/** What the contract of the client takes from `vitest`, for pages: its `expect`, and tests that are collected and then run one after the other. */
import { chai, GLOBAL_EXPECT, JestAsymmetricMatchers, JestChaiExpect, JestExtend, setState } from '@vitest/expect';

chai.use(JestExtend);
chai.use(JestChaiExpect);
chai.use(JestAsymmetricMatchers);
export const expect = ((value: unknown, message?: string) => chai.expect(value, message)) as typeof chai.expect;
Object.assign(expect, chai.expect);
Reflect.set(globalThis, GLOBAL_EXPECT, expect);
setState({}, expect as never);

type Step = () => unknown;
const titles: string[] = [];
const collected: { readonly title: string; readonly run: Step }[] = [];
const afterEachStep: Step[] = [];

export function describe(title: string, collect: () => void): void {
  titles.push(title);
  collect();
  titles.pop();
}

export function test(title: string, run: Step): void {
  collected.push({ title: [...titles, title].join(' > '), run });
}

export function afterEach(step: Step): void {
  afterEachStep.push(step);
}

export interface TestResult {
  readonly title: string;
  /** Empty: passed. */
  readonly error: string;
  readonly tookMs: number;
}

/** Runs what was collected since the last time. */
export async function runTests(): Promise<readonly TestResult[]> {
  const results: TestResult[] = [];
  for (const { title, run } of collected.splice(0)) {
    let error = '';
    const beganMs = performance.now();
    try {
      await run();
    } catch (thrown) {
      error = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
    }
    for (const step of afterEachStep) await step();
    results.push({ title, error, tookMs: Math.round(performance.now() - beganMs) });
  }
  afterEachStep.splice(0);
  return results;
}
