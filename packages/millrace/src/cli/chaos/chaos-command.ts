/** `millrace chaos`: a TCP proxy that makes the network fail, at given times, at random, or on command. */
import { ChaosProxy } from '../../chaos/chaos-proxy.ts';
import { drawFault } from '../../chaos/random-faults.ts';
import { randomFrom } from '../../seeded-random.ts';
import { CommandFailure } from '../command-failure.ts';
import { exitCodes } from '../exit-codes.ts';
import type { ParsedArguments } from '../parse-arguments.ts';
import type { CommandEnvironment } from '../run-command.ts';
import { onStopSignal } from '../stop-signals.ts';
import { type ChaosControl, controlByLines, openControlPort } from './chaos-control.ts';
import { type ChaosPlan, chaosPlanFrom } from './chaos-plan.ts';
import { addressText, chaosEventJson, chaosEventText } from './chaos-text.ts';

export async function runChaosCommandLine(parsed: ParsedArguments, parts: CommandEnvironment): Promise<number> {
  const plan = chaosPlanFrom(parsed);
  const { stdout, now } = parts;
  const beganAt = now();
  const textOf = plan.isJson ? chaosEventJson : chaosEventText;
  const random = randomFrom(plan.seed);
  const proxy = await opened('--listen', () =>
    ChaosProxy.open({
      target: plan.target,
      listen: plan.listen,
      limits: plan.limits,
      // Jitter does not change which faults are drawn.
      random: randomFrom(plan.seed ^ 0x5f5f5f5f),
      onEvent: (event) => void stdout.write(textOf(event, (now() - beganAt) / 1000)),
    }),
  );
  const stop = new AbortController();
  const control: ChaosControl = { proxy, quit: () => stop.abort() };
  const unlisten = onStopSignal(parts, () => stop.abort());
  try {
    const port =
      plan.controlPort === undefined
        ? undefined
        : await opened('--control-port', () => openControlPort(plan.controlPort as number, control));
    try {
      stdout.write(beginText(plan, addressText(proxy.address), port && addressText(port.address)));
      if (plan.readsStdin) {
        void controlByLines(parts.stdin, control, (text) => {
          if (text.startsWith('error')) parts.stderr.write(`millrace: ${text}\n`);
          else if (text !== 'ok') stdout.write(`${text}\n`);
        });
      }
      await Promise.all([...scheduled(plan, proxy, random, parts, stop.signal), ended(plan, parts, stop)]);
    } finally {
      await port?.close();
    }
  } finally {
    unlisten();
    await proxy.close();
  }
  return exitCodes.ok;
}

/** Programs read the addresses from the first line. */
function beginText({ isJson, target }: ChaosPlan, listening: string, controlledAt: string | undefined): string {
  if (isJson) {
    return `${JSON.stringify({ event: 'listening', address: listening, target: addressText(target), control: controlledAt })}\n`;
  }
  const control = controlledAt === undefined ? '' : `, commands on ${controlledAt}`;
  return `listening on ${listening}, forwarding to ${addressText(target)}${control}\n`;
}

async function opened<T>(flag: string, open: () => Promise<T>): Promise<T> {
  try {
    return await open();
  } catch (error) {
    throw new CommandFailure(`cannot listen: ${(error as Error).message}; choose another port with ${flag}`);
  }
}

function scheduled(
  { timed, random: drawn }: ChaosPlan,
  proxy: ChaosProxy,
  random: () => number,
  { delay }: CommandEnvironment,
  signal: AbortSignal,
): Promise<void>[] {
  const wait = (ms: number): Promise<boolean> =>
    delay(ms, signal).then(
      () => true,
      () => false,
    );
  const all = timed.map(async ({ atMs, fault }) => {
    if (await wait(atMs)) proxy.apply(fault);
  });
  const draw = async (options: NonNullable<ChaosPlan['random']>): Promise<void> => {
    for (;;) {
      const { afterMs, fault } = drawFault({ ...options, random });
      if (!(await wait(afterMs))) return;
      proxy.apply(fault);
    }
  };
  return drawn === undefined ? all : [...all, draw(drawn)];
}

/** Resolves when it is stopped, or its time is over. */
async function ended({ durationMs }: ChaosPlan, { delay }: CommandEnvironment, stop: AbortController): Promise<void> {
  const stopped = new Promise<void>((resolve) => {
    if (stop.signal.aborted) resolve();
    else stop.signal.addEventListener('abort', () => resolve(), { once: true });
  });
  if (durationMs === undefined) return stopped;
  const isOver = new AbortController();
  await Promise.race([stopped, delay(durationMs, isOver.signal).catch(() => {})]);
  isOver.abort();
  stop.abort();
}
