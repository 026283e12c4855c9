/**
 * A scenario file is a story in blocks. A block is lines of what happens, a line `----`, and the actions that came of
 * it, up to an empty line. `at 20` sets the clock, `pump` ends a turn, `options name=value` may come first and makes the
 * scheduler with these limits; everything else is an event. Lines with `#` are comments.
 */
import { formatAction } from '../event-text.ts';
import { Scheduler } from '../scheduler/scheduler.ts';
import { defaultSchedulerConfig, type SchedulerOptions } from '../scheduler/scheduler-config.ts';
import { mustParseEvent } from './parse-event.ts';

const separator = '----';
const nothing = '(nothing)';

/** The file as it would be if every block had the actions that the scheduler decides now. */
export function runScenario(text: string): string {
  const run = { scheduler: new Scheduler(), nowMs: 0, isStarted: false };
  const written: string[] = [];
  let isExpected = false;
  for (const line of text.trimEnd().split('\n')) {
    if (line === separator) {
      const actions = run.scheduler.takeActions().map(formatAction);
      written.push(separator, ...(actions.length === 0 ? [nothing] : actions));
      isExpected = true;
    } else if (line === '') {
      if (isExpected || written.at(-1)?.startsWith('#')) written.push('');
      isExpected = false;
    } else if (!isExpected) {
      written.push(line);
      if (!line.startsWith('#')) follow(run, line);
    }
  }
  if (!isExpected) throw new Error(`the last block does not end in ${separator} and its actions`);
  return `${written.join('\n')}\n`;
}

function follow(run: { scheduler: Scheduler; nowMs: number; isStarted: boolean }, line: string): void {
  const [command, argument] = line.split(' ');
  if (command === 'options') {
    if (run.isStarted) throw new Error('options come before everything else');
    run.scheduler = new Scheduler(mustParseOptions(line));
  } else if (command === 'at') {
    const nowMs = Number(argument);
    if (!(nowMs >= run.nowMs)) throw new Error(`the clock goes forward: "${line}"`);
    run.nowMs = nowMs;
  } else if (command === 'pump') {
    run.scheduler.pump(run.nowMs);
  } else {
    run.scheduler.handle(mustParseEvent(line), run.nowMs);
  }
  run.isStarted = true;
}

/** Limits of the retry policy are named `retry.requeues-max` and the like, those of breakers `breaker.open-ms`. */
function mustParseOptions(line: string): SchedulerOptions {
  const options: Record<string, number> = {};
  const retry: Record<string, number> = {};
  const breaker: Record<string, number> = {};
  for (const word of line.split(' ').slice(1)) {
    const [dashed = '', value] = word.split('=');
    const [target, known, prefix] = dashed.startsWith('retry.')
      ? [retry, defaultSchedulerConfig.retry, 'retry.']
      : dashed.startsWith('breaker.')
        ? [breaker, defaultSchedulerConfig.breaker, 'breaker.']
        : [options, defaultSchedulerConfig, ''];
    const name = dashed.slice(prefix.length).replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
    if (!(name in known)) throw new Error(`no such option: "${word}"`);
    target[name] = Number(value);
  }
  return { ...options, retry, breaker };
}
