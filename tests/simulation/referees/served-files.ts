/** What a repository holds is what is served, once nothing changes any more, unless it could not be loaded. */
import type { SimulatedLane } from '../lane/simulated-lane.ts';
import type { SimulatedRepository } from '../repository/simulated-repository.ts';
import type { OpenedShell } from '../shell.ts';
import { claim } from '../world/truth.ts';
import type { Weather } from '../world/weather.ts';
import type { LibraryReferee } from './library-referee.ts';

export interface ServedFilesParts {
  readonly shell: OpenedShell;
  readonly repository: SimulatedRepository;
  readonly lane: SimulatedLane;
  readonly weather: Weather;
  readonly library: LibraryReferee;
}

export function claimServed({ shell, repository, lane, weather, library }: ServedFilesParts): void {
  const statuses = shell.models.statuses();
  const present = repository.present();
  for (const { model, version, stamp } of present) {
    const { name } = model;
    const status = statuses.find((one) => one.name === name && one.version === version);
    const isAtHand = status?.state === 'ready' || status?.state === 'evicted';
    const hasFailed = library.hasFailed(name, version);
    claim(isAtHand || hasFailed, `${name}:${version} is in the repository, but ${status?.state}: ${status?.reason}`);
    const served = shell.models.takeModel(name, version)?.view.config.stamp;
    const isCurrent = served === stamp || hasFailed;
    claim(isCurrent, `${name}:${version} is served from file ${served}, but the repository holds ${stamp}`);
  }
  for (const { name, version, state } of statuses) {
    const isPresent = present.some((one) => one.model.name === name && one.version === version);
    claim(isPresent, `${name}:${version} is ${state}, but not in the repository`);
  }
  const bytes = lane.residentBytes();
  const isWithin = weather.pinned > 0 || bytes <= weather.budgetBytes;
  claim(isWithin, `workers take ${bytes} bytes under a budget of ${weather.budgetBytes}`);
}
