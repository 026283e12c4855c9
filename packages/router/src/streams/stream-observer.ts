/** What happens to streams, for metrics. */

/** Why a client came back to a stream. */
export type ResumeCause = 'reconnect' | 'router-restart';

export interface StreamObserver {
  streamOpened(): void;
  streamResumed(cause: ResumeCause): void;
  streamFinished(): void;
  streamRefused(code: string): void;
}

export const noStreamObserver: StreamObserver = {
  streamOpened: () => {},
  streamResumed: () => {},
  streamFinished: () => {},
  streamRefused: () => {},
};
