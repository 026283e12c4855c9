import type { ChannelListener, WorkerSource } from '../worker-source.ts';
import { AttachedChannel } from './attached-channel.ts';

/**
 * Workers that run on their own, each by the path of its socket. A channel is opened to the one with the fewest channels
 * of this source, so that the workers of a group are different ones as far as there are enough.
 */
export function attachedWorkers(socketPaths: readonly string[]): WorkerSource {
  const channels = new Map(socketPaths.map((path) => [path, 0]));
  const count = (path: string, change: number): void => void channels.set(path, (channels.get(path) ?? 0) + change);
  return {
    life: 'attached',
    open(listener) {
      const [[path] = ['']] = [...channels].sort(([, a], [, b]) => a - b);
      count(path, 1);
      const counted: ChannelListener = {
        memoryDescriptor: undefined,
        onData: (chunk) => listener.onData(chunk),
        onEnd(reason) {
          count(path, -1);
          listener.onEnd(reason);
        },
      };
      return new AttachedChannel(path, counted);
    },
  };
}
