/** What the arguments of `millrace chaos` ask for. */
import { ConfigError, type ConfigProblem } from '@millrace/protocol';
import { type ChaosLimits, defaultChaosLimits, type TcpAddress } from '../../chaos/chaos-proxy.ts';
import { chaosKinds, type Fault } from '../../chaos/fault.ts';
import { faultFrom, timeMsFrom } from '../../chaos/fault-text.ts';
import { didYouMean } from '../../config/suggest.ts';
import { takeBytes } from '../../config/units.ts';
import { wholeNumber } from '../flag-readers.ts';
import type { FlagValues, ParsedArguments } from '../parse-arguments.ts';

export interface ChaosPlan {
  readonly target: TcpAddress;
  readonly listen: TcpAddress;
  readonly limits: ChaosLimits;
  readonly seed: number;
  /** Since the start. */
  readonly timed: readonly { readonly atMs: number; readonly fault: Fault }[];
  /** Undefined: none at random. */
  readonly random: { readonly meanMs: number; readonly kinds: readonly (typeof chaosKinds)[number][] } | undefined;
  readonly controlPort: number | undefined;
  readonly readsStdin: boolean;
  /** Undefined: until it is stopped. */
  readonly durationMs: number | undefined;
  readonly isJson: boolean;
}

const bufferedBytesLimit = 256 * 1024 * 1024;

export function chaosPlanFrom({ positionals, flags }: ParsedArguments): ChaosPlan {
  const problems: ConfigProblem[] = [];
  const [written] = positionals;
  const example = 'millrace chaos 127.0.0.1:8001';
  const target = written === undefined ? undefined : takeAddress(written, '127.0.0.1');
  if (target === undefined || target.port === 0) {
    const what = written === undefined ? 'needs the address to forward to' : `cannot forward to "${written}"`;
    problems.push({ source: 'millrace chaos', message: `${what}: ${example}` });
  }
  const listenText = flags.takeText('listen') ?? '0';
  const listen = takeAddress(listenText, '127.0.0.1');
  if (listen === undefined) {
    problems.push({ source: '--listen', message: `must be a port or HOST:PORT, not "${listenText}"` });
  }
  const plan: ChaosPlan = {
    target: target ?? { host: '', port: 0 },
    listen: listen ?? { host: '', port: 0 },
    limits: {
      connectionsMax: wholeNumber(flags, 'connections-max', defaultChaosLimits.connectionsMax, 1, problems, 65_536),
      bufferedBytesMax: bufferFrom(flags, problems),
    },
    seed: wholeNumber(flags, 'seed', 1, 0, problems),
    timed: timedFrom(flags, problems),
    random: randomFaultsFrom(flags, problems),
    controlPort:
      flags.takeText('control-port') === undefined
        ? undefined
        : wholeNumber(flags, 'control-port', 0, 0, problems, 65_535),
    readsStdin: !flags.given().some(({ spec, value }) => spec.flag === 'stdin' && value === false),
    durationMs: takeTimeFlag(flags, 'duration', problems),
    isJson: flags.isOn('json'),
  };
  if (problems.length > 0) throw new ConfigError(problems);
  return plan;
}

/** `8001`, `host:8001`, `[::1]:8001` or a URL. */
function takeAddress(text: string, defaultHost: string): TcpAddress | undefined {
  const match = /^(?:(?:https?:\/\/)?(\[[0-9a-f:.]+\]|[^:/\s]+):)?(\d{1,5})\/?$/i.exec(text);
  const port = Number(match?.[2]);
  if (match === null || port > 65_535) return undefined;
  return { host: match[1]?.replace(/^\[|\]$/g, '') ?? defaultHost, port };
}

function bufferFrom(flags: FlagValues, problems: ConfigProblem[]): number {
  const written = flags.takeText('buffer');
  if (written === undefined) return defaultChaosLimits.bufferedBytesMax;
  const bytes = takeBytes(written);
  if (bytes !== undefined && bytes >= 1024 && bytes <= bufferedBytesLimit) return bytes;
  problems.push({ source: '--buffer', message: `must be from 1KiB to 256MiB, not "${written}"` });
  return 0;
}

function timedFrom(flags: FlagValues, problems: ConfigProblem[]): ChaosPlan['timed'] {
  return flags.allTexts('at').flatMap((written) => {
    const equals = written.indexOf('=');
    try {
      if (equals < 1) throw new Error(`must be TIME=FAULT, like '5s=reset', not "${written}"`);
      return [{ atMs: timeMsFrom(written.slice(0, equals)), fault: faultFrom(written.slice(equals + 1)) }];
    } catch (error) {
      problems.push({ source: '--at', message: (error as Error).message });
      return [];
    }
  });
}

function randomFaultsFrom(flags: FlagValues, problems: ConfigProblem[]): ChaosPlan['random'] {
  const meanMs = takeTimeFlag(flags, 'random', problems);
  const written = flags.takeText('faults');
  if (meanMs === undefined) {
    if (written !== undefined && flags.takeText('random') === undefined) {
      problems.push({ source: '--faults', message: 'has no effect without --random TIME' });
    }
    return undefined;
  }
  if (meanMs < 10) problems.push({ source: '--random', message: 'must be at least 10ms' });
  const names = written === undefined ? chaosKinds : written.split(',').map((name) => name.trim());
  const kinds = names.flatMap((name) => chaosKinds.filter((kind) => kind === name));
  for (const name of names) {
    if (kinds.some((kind) => kind === name)) continue;
    const near = didYouMean(name, chaosKinds);
    problems.push({ source: '--faults', message: `"${name}" is none of ${chaosKinds.join(', ')}.${near}` });
  }
  return { meanMs, kinds };
}

function takeTimeFlag(flags: FlagValues, flag: string, problems: ConfigProblem[]): number | undefined {
  const written = flags.takeText(flag);
  if (written === undefined) return undefined;
  try {
    return timeMsFrom(written);
  } catch (error) {
    problems.push({ source: `--${flag}`, message: (error as Error).message });
    return undefined;
  }
}
