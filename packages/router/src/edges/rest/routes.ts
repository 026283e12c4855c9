/** The operations of the Open Inference Protocol over REST. */
import type { CallerRule } from '../caller.ts';
import type { OpenInferenceParts } from '../open-inference.ts';
import type { Route } from '../routing/route.ts';
import type { SliceQueue } from '../slices/slice-queue.ts';
import type { RestConfig } from './config.ts';
import { frontPageRoute } from './front-page.ts';
import { generateRoutes } from './generate/generate-routes.ts';
import { RestInferOperation } from './infer.ts';
import { inferRoutes } from './infer-routes.ts';
import { modelRoutes } from './model-routes.ts';
import { repositoryRoutes } from './repository-routes.ts';
import { serverRoutes } from './server-routes.ts';
import { statisticsRoutes } from './statistics-routes.ts';

export interface RestDependencies extends OpenInferenceParts {
  readonly config: RestConfig;
  readonly callers: CallerRule;
  readonly slices: SliceQueue;
  /** Called with unexpected errors; clients see only that there was one. */
  readonly onError: (error: unknown) => void;
}

export function restRoutes(dependencies: RestDependencies): readonly Route[] {
  const { management, statistics } = dependencies;
  return [
    frontPageRoute(dependencies),
    ...serverRoutes(dependencies),
    ...modelRoutes(dependencies),
    ...inferRoutes(dependencies, new RestInferOperation(dependencies)),
    ...generateRoutes(dependencies),
    ...(statistics === undefined ? [] : statisticsRoutes({ ...dependencies, statistics })),
    ...(management === undefined ? [] : repositoryRoutes({ ...dependencies, management })),
  ];
}
