/** Opens what serves models, from the private folder up to labels and splits. The server and the embedding API both use it. */
import { join } from 'node:path';
import type { DataPlaneObserver, LibraryListener } from '@millrace/router/internal';
import { type Assembly, type AssemblyParts, assemble } from './assemble.ts';
import { ChildProcesses } from './children/child-processes.ts';
import type { Components } from './components.ts';
import type { Config } from './config/fields.ts';
import { openStore, stateFolderIn } from './open-store.ts';
import { codeId } from './programs.ts';
import { ReadingCache } from './reading-cache.ts';
import type { HeldFolder } from './supervisor/messages.ts';

export interface ServingParts
  extends Pick<AssemblyParts, 'onShadow' | 'onUnreadable' | 'onWorkerLine' | 'pendingObserver'> {
  /** Model repositories and single files. */
  readonly paths: readonly string[];
  readonly config: Config;
  readonly observer: DataPlaneObserver;
  readonly listener: LibraryListener;
  /** Called with the reason when there is no private folder for temporary files. */
  readonly onFolderUnavailable: (reason: string) => void;
  /** The folder for temporary files that the supervisor holds, if there is one. */
  readonly heldFolder?: HeldFolder | undefined;
  /** Called with the reason when what the router before this one kept of explicit loads and labels cannot be read. */
  readonly onStateLost?: ((reason: string) => void) | undefined;
  /** This router takes the place of another, and should serve what that one did. */
  readonly isRestart?: boolean;
  /** Called with the reason when tensors are copied through the workers' sockets although shared memory is configured. */
  readonly onSharedMemoryUnavailable: (reason: string) => void;
}

/** Undefined where there is none. */
export interface ServingFolders {
  readonly temporaryFolder: string | undefined;
  /** For what the next router of the same supervisor is to find. */
  readonly lastingFolder: string | undefined;
  /** What is known of model files. */
  readonly readings: ReadingCache;
}

/** Nothing is loaded before the library is started. What has to be stopped is added to `components`. */
export async function openServing(components: Components, parts: ServingParts): Promise<Assembly & ServingFolders> {
  const { config, onFolderUnavailable, heldFolder, onStateLost, ...rest } = parts;
  const children = await ChildProcesses.open({ worker: config.worker, onFolderUnavailable, heldFolder });
  components.add({ close: () => children.close() });
  const lastingFolder = heldFolder && children.lastingFolder;
  const store = await openStore(config.store, {
    temporaryFolder: children.folder,
    lastingFolder,
    onLost: onStateLost,
  });
  components.add({ close: () => store.close() });
  await children.checkReach(rest.paths, config.store.path);
  const readings = new ReadingCache({ folder: lastingFolder, code: codeId() });
  components.add({ close: () => readings.close() });
  const probeFile = lastingFolder === undefined ? {} : { probeFile: join(lastingFolder, 'generator-probes.json') };
  const assembly = await assemble({
    ...rest,
    config,
    store,
    children,
    readings,
    ...probeFile,
    ...stateFolderIn(config.store.path, lastingFolder),
  });
  addAssembly(components, assembly);
  return { ...assembly, temporaryFolder: children.folder, lastingFolder, readings };
}

/**
 * Closed from the last line up: the library first, so that nothing is loaded for requests that the data plane still
 * finishes; then the workers, when no request is left; the files that they read are removed last.
 */
function addAssembly(components: Components, assembly: Assembly): void {
  const { library, fleet, dataPlane, prepared } = assembly;
  const removeFiles = () => library.removeFiles();
  components.add({ drain: removeFiles, close: removeFiles });
  components.add({ drain: () => fleet.stop(), close: () => fleet.kill() });
  components.add({ drain: () => dataPlane.drain() });
  const stopDeciding = () => {
    library.close();
    prepared.close();
  };
  components.add({ drain: stopDeciding, close: stopDeciding });
  // Copies for shadows must not delay the shutdown.
  const endShadows = () => dataPlane.endShadows();
  components.add({ drain: endShadows, close: endShadows });
  components.add({ close: () => assembly.close() });
}
