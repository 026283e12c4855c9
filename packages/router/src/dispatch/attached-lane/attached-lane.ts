/** The lane to workers on this host that run on their own, and that other routers may share: messages and tensors over Unix sockets. */
import type { Lane } from '@millrace/protocol';
import { MappingPool } from '@millrace/shared-memory';
import { LocalLink } from '../local-lane/local-link.ts';
import { attachedWorkers } from './attached-workers.ts';
import { ContentLoads, type DescribeContent } from './content-loads.ts';

export interface AttachedLaneOptions {
  /** The sockets of the workers, at least one. */
  readonly socketPaths: readonly string[];
  readonly describeContent: DescribeContent;
  /** The longest message in either direction, with its tensors; default: 1 GiB. */
  readonly messageBytesMax?: number;
}

/** A lane of which each `open` attaches to a worker. No memory is shared: a descriptor can only be inherited. */
export function createAttachedLane({ socketPaths, describeContent, ...options }: AttachedLaneOptions): Lane {
  if (socketPaths.length === 0) throw new Error('a lane to attached workers needs the socket of at least one');
  const source = attachedWorkers(socketPaths);
  const noMemories = new MappingPool();
  const linkOptions = { ...options, sharedMemoryBytesMax: 0 };
  return {
    name: 'local',
    life: source.life,
    open: (receive) =>
      new ContentLoads((heard) => new LocalLink(source, linkOptions, noMemories, heard), describeContent, receive),
  };
}
