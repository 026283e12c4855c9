/** What a seed decides about one durable stream: who opens it, on which model, with which inputs, and how its clients behave. */
import type { StreamModelKind } from '@millrace/core';
import type { StreamCaller } from '@millrace/router/internal';
import { labels } from '../callers/operator.ts';
import type { WorldModel } from '../repository/layout.ts';
import type { ClientSurroundings } from '../streams/simulated-client.ts';
import type { SimulationRandom } from '../world/random.ts';
import type { StreamHostWeather } from '../world/stream-host-weather.ts';
import type { Truth } from '../world/truth.ts';
import type { Weather } from '../world/weather.ts';

export interface HostedStreamPlan {
  readonly id: string;
  readonly caller: StreamCaller;
  readonly model: WorldModel;
  /** `model`, `model:version` or `model@label`. */
  readonly context: string;
  /** The question of its first input; the others follow. */
  readonly firstQuestion: number;
  readonly weather: ClientSurroundings['weather'] & { readonly lossShare: number };
  /** The client ends its inputs by one without a payload. */
  readonly hasBareEnd: boolean;
  readonly isAcknowledging: boolean;
  /** A client that was attached before says so. */
  readonly resumesByMode: boolean;
  /** Infinity: never. */
  readonly leavesAfterMs: number;
  readonly cancelsAfterMs: number;
}

/** Far from the questions of requests, and below those of cached models. */
const questionMin = 500_000;
const questionsPerStream = 100;

export function streamKindOf({ kind }: WorldModel): StreamModelKind {
  return kind === 'stateful' || kind === 'decoupled' ? kind : 'independent';
}

/** Models that streams can run on, and of which the undisturbed outputs are known. */
export function hasStreams({ kind }: WorldModel): boolean {
  return kind === 'plain' || kind === 'stateful' || kind === 'decoupled';
}

export function streamPlanFrom(
  index: number,
  models: readonly WorldModel[],
  weather: StreamHostWeather,
  random: SimulationRandom,
): HostedStreamPlan {
  // Those that are for streams alone are preferred: nobody else tells of them.
  const own = models.filter(({ kind }) => kind !== 'plain');
  const model = random.pick(own.length > 0 && random.chance(0.7) ? own : models);
  const isAcknowledging = !random.chance(weather.unacknowledging);
  const { creditMessages, creditBytes } = weather.settings;
  const never = Number.POSITIVE_INFINITY;
  return {
    id: `stream-${index}`,
    caller: { caller: `caller-${random.integer(1, weather.callerCount)}`, principal: random.pick(['', 'ada', 'bob']) },
    model,
    context: contextOf(model, random),
    firstQuestion: questionMin + index * questionsPerStream,
    weather: {
      clients: random.chance(weather.twoClients) ? 2 : 1,
      consumeMsMax: random.chance(weather.slowClient) ? 100 : 10,
      inputs: random.integer(1, weather.inputsMax),
      isUnordered: random.chance(weather.unordered),
      outputCredit: isAcknowledging ? random.integer(1, 12) : creditMessages,
      outputCreditBytes: isAcknowledging ? random.integer(50, 1000) : creditBytes,
      lossShare: weather.lossShare,
    },
    hasBareEnd: random.chance(0.3),
    isAcknowledging,
    resumesByMode: random.chance(0.5),
    leavesAfterMs: random.chance(weather.leavingClient) ? random.integer(0, 2000) : never,
    cancelsAfterMs: random.chance(weather.cancellingClient) ? random.integer(0, 2000) : never,
  };
}

/** What the inputs of a stream do to their workers: of most streams nothing, or none would come to its end. */
export function decideNatures(
  { model, firstQuestion, weather }: HostedStreamPlan,
  truth: Truth,
  random: SimulationRandom,
  world: Weather,
): void {
  if (model.cache !== 'none' || !random.chance(0.3)) return;
  const question = firstQuestion + random.integer(1, weather.inputs);
  truth.decide(question, random, { ...world, poisonRequest: 4 * world.poisonRequest });
}

function contextOf({ name, versionsMax }: WorldModel, random: SimulationRandom): string {
  if (random.chance(0.6)) return name;
  return random.chance(0.9) ? `${name}:${random.integer(1, versionsMax)}` : `${name}@${random.pick(labels)}`;
}
