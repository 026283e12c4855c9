/** Starts the server: has its models read, with all that serving them takes, and composes the rest around that. */
import { LifeCycleMetrics, MetricsObserver, MetricsRegistry, startProcessMetrics } from '@millrace/router/internal';
import { Components } from './components.ts';
import type { Config } from './config/fields.ts';
import { eventLoopPolling } from './event-loop-polling.ts';
import { FleetWatch } from './fleet-watch.ts';
import type { Logger } from './logging/logger.ts';
import { openServing } from './open-serving.ts';
import type { RunningServer } from './running-server.ts';
import type { Supervision } from './supervisor/supervision.ts';
import { version } from './version.ts';

/** Like `StartServer`, with the supervisor of the process, if it has one. */
export function startServer(config: Config, logger: Logger, supervision?: Supervision): Promise<RunningServer> {
  return Components.start((components) => startOn(components, config, logger, supervision));
}

async function startOn(
  components: Components,
  config: Config,
  logger: Logger,
  supervision: Supervision | undefined,
): Promise<RunningServer> {
  const metrics = new MetricsRegistry();
  const observer = new MetricsObserver(metrics, { version, node: process.version });
  const polling = eventLoopPolling(config.server.pollMicrosMax);
  const processMetrics = startProcessMetrics(metrics, {
    startedAtMs: Date.now() - process.uptime() * 1000,
    restarts: supervision?.restarts ?? 0,
    polling,
  });
  components.add({ close: () => processMetrics.stop() });
  const budgetBytes = config.models.memoryBudget === 0 ? Number.POSITIVE_INFINITY : config.models.memoryBudget;
  const watch = new FleetWatch(logger, observer, new LifeCycleMetrics(metrics, budgetBytes));
  const opening = openServing(components, {
    paths: config.models.paths,
    config,
    observer,
    listener: watch,
    pendingObserver: polling,
    onFolderUnavailable: (reason) => logger.warn({ reason }, 'no private folder for temporary files'),
    heldFolder: supervision?.folder,
    isRestart: (supervision?.restarts ?? 0) > 0,
    onStateLost: (reason) => logger.warn({ reason }, 'explicit loads and labels of the router before are lost'),
    onSharedMemoryUnavailable: (reason) =>
      logger.warn({ reason }, 'shared memory unavailable; tensors are copied to workers over their socket'),
    onWorkerLine: (pid, line) => watch.workerPrinted(pid, line),
    onShadow: (model, modelVersion, outcome) => observer.shadowEnded(model, modelVersion, outcome),
    onUnreadable: (key) => logger.warn({ key }, 'unreadable traffic record ignored'),
  });
  // What went wrong is told below.
  opening.catch(() => {});
  // The processes that it has started take their time: meanwhile the edges are read and compiled.
  const { compose } = await import('./compose.ts');
  const assembly = await opening;
  return compose(components, { config, logger, supervision, metrics, observer, watch, assembly });
}
