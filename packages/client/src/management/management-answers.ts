/** What the management API tells and takes, as docs/reference/management.md of the server describes it; a test keeps both equal. */

export interface ManagedContext {
  readonly model: string;
  /** Empty when the model failed before it had a version. */
  readonly version: string;
  /** `evicted`: not in memory now; loaded again by the next request. */
  readonly state: 'loading' | 'ready' | 'unloading' | 'failed' | 'evicted';
  /** Why it is not ready; empty when it is. */
  readonly reason: string;
  readonly labels: readonly string[];
  readonly pinned: boolean;
  /** Memory of its workers as the system measured it. */
  readonly residentBytes: number;
  /** Since its last request; absent: it had none yet. */
  readonly idleMs?: number;
  readonly waitingRequests: number;
  readonly runningRequests: number;
  readonly instances: number;
  /** Its streams go on bit for bit after a failure, as a probe found; absent: no stateful stream was opened yet. */
  readonly exact?: boolean;
}

/** A model that was never loaded has a name only. */
export interface ManagedModel {
  readonly name: string;
  readonly version?: string;
  readonly state?: 'UNKNOWN' | 'READY' | 'UNAVAILABLE' | 'LOADING' | 'UNLOADING';
  readonly reason?: string;
}

export interface VersionWeight {
  readonly version: string;
  /** Its share is its weight divided by the sum of all weights. */
  readonly weight: number;
}

export interface VersionShadow {
  readonly version: string;
  /** Above 0, up to 100. */
  readonly percent: number;
}

export interface ModelTraffic {
  /** Versions by label. */
  readonly labels: Readonly<Record<string, string>>;
  /** Of requests that name neither version nor label; empty: the highest ready version gets all requests. */
  readonly split: readonly VersionWeight[];
  /** Versions that get copies of requests; their answers are never returned. */
  readonly shadows: readonly VersionShadow[];
  /** Rises with every change; 0: never changed. */
  readonly revision: number;
}

/** What is absent stays. */
export interface ModelTrafficChange {
  /** A version for a label, or null to remove it. */
  readonly labels?: Readonly<Record<string, string | null>>;
  /** Replaces the split; empty: ends it. */
  readonly split?: readonly VersionWeight[];
  /** Replaces the shadows; empty: ends them. */
  readonly shadows?: readonly VersionShadow[];
}

export interface ManagedInstance {
  readonly worker: number;
  /** Absent: it runs inside the server's own process. */
  readonly pid?: number;
  readonly model: string;
  readonly version: string;
  readonly group: string;
  readonly device: string;
  readonly breaker: 'closed' | 'open' | 'half-open';
  readonly outstandingBatches: number;
  /** Milliseconds that a row takes here, as measured recently; absent before the first batch. */
  readonly rowMs?: number;
  /** It takes this priority level and more urgent ones only; absent: all. */
  readonly priorityMax?: number;
}

export interface ManagedQueue {
  readonly model: string;
  readonly version: string;
  readonly waitingRequests: number;
  readonly waitingBytes: number;
  /** Estimated wait of a request that arrives now, in milliseconds; absent: not known yet. */
  readonly waitMs?: number;
}

export interface ManagedQueues {
  readonly waitingRequests: number;
  readonly waitingBytes: number;
  readonly runningRequests: number;
  readonly models: readonly ManagedQueue[];
}

export interface ManagedStream {
  readonly id: string;
  readonly model: string;
  readonly version: string;
  /** Number of its current ownership. */
  readonly epoch: number;
  /** This server runs it; false: it lies in the journal and nothing else. */
  readonly owned: boolean;
  /** A client is connected. */
  readonly attached: boolean;
  /** Milliseconds since 1970. */
  readonly openedAtMs: number;
  readonly ageMs: number;
  /** When it ends at the latest, in milliseconds since 1970. */
  readonly expiresAtMs: number;
  /** Inputs that are durable. */
  readonly acceptedInputs: number;
  readonly outputs: number;
  readonly journalBytes: number;
  /** After a failure it goes on with the values that it would have had; absent: its model keeps no state. */
  readonly exact?: boolean;
  /** What the probe of its model found: `alone` means that its steps share no runs. */
  readonly exactness?: 'exact' | 'alone' | 'inexact' | 'unproven';
  /** Absent: it has not ended. */
  readonly ended?: {
    readonly outcome: 'done' | 'failed' | 'cancelled' | 'expired';
    readonly code?: string;
    readonly message: string;
  };
}

export interface ManagedStreams {
  /** By id. */
  readonly streams: readonly ManagedStream[];
  /** `after` of the next page; absent: this is the last one. */
  readonly next?: string;
}
