/** Opens what serves models, from the private folder up to labels and splits. Both the server and the embedding API stand on it. */
import type { DataPlaneObserver, LibraryListener } from '@millrace/router/internal';
import { type Assembly, assemble } from './assemble.ts';
import { ChildProcesses } from './children/child-processes.ts';
import type { Components } from './components.ts';
import type { Config } from './config/fields.ts';
import { type ContextLayer, type ContextParts, openContexts } from './open-contexts.ts';
import { openStore, stateFolderIn } from './open-store.ts';

export interface ServingParts extends Pick<ContextParts, 'onShadow' | 'onUnreadable'> {
  /** Model repositories and single files. */
  readonly paths: readonly string[];
  readonly config: Config;
  readonly observer: DataPlaneObserver;
  readonly listener: LibraryListener;
  /** Told why there is no private folder for temporary files. */
  readonly onFolderUnavailable: (reason: string) => void;
  /** Told why workers copy tensors through their socket although shared memory was asked for. */
  readonly onSharedMemoryUnavailable: (reason: string) => void;
}

export interface Serving {
  readonly assembly: Assembly;
  readonly layer: ContextLayer;
}

/** Nothing is loaded before the library is started. What has to be stopped is added to `components`. */
export async function openServing(components: Components, parts: ServingParts): Promise<Serving> {
  const { paths, config, observer, listener, onShadow, onUnreadable } = parts;
  const { onFolderUnavailable, onSharedMemoryUnavailable } = parts;
  const children = await ChildProcesses.open({ worker: config.worker, onFolderUnavailable });
  components.add({ close: () => children.close() });
  const store = await openStore(config.store, children.folder);
  components.add({ close: () => store.close() });
  await children.checkReach(paths, config.store.path);
  const assembly = await assemble({
    paths,
    config,
    observer,
    listener,
    store,
    children,
    ...stateFolderIn(config.store.path),
    onSharedMemoryUnavailable,
  });
  addAssembly(components, assembly);
  const layer = await openContexts({ assembly, store, config, onShadow, onUnreadable });
  components.add({ drain: () => layer.endShadows(), close: () => layer.close() });
  return { assembly, layer };
}

/**
 * Read from the last line up: the library stops deciding first, so that nothing is loaded for requests that the data
 * plane still finishes; workers end when it has none left; the files that they read go last.
 */
function addAssembly(components: Components, { library, fleet, dataPlane }: Assembly): void {
  const removeFiles = () => library.removeFiles();
  components.add({ drain: removeFiles, close: removeFiles });
  components.add({ drain: () => fleet.stop(), close: () => fleet.kill() });
  components.add({ drain: () => dataPlane.drain() });
  const stopDeciding = () => library.close();
  components.add({ drain: stopDeciding, close: stopDeciding });
}
