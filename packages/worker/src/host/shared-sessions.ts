/**
 * Sessions of a worker with several links: loads of the same content with the same settings get one session, which is unloaded
 * when the last of them is. A load that does not name its content has a session of its own.
 */
import type { LoadSpec } from '@millrace/protocol';
import type { ContentLoad, ModelFiles } from '../content/model-files.ts';
import type { Session } from '../engine.ts';
import { LimitedSession, RunLimit } from './run-limit.ts';
import type { SessionSource } from './sessions.ts';

export interface SharedSessionsOptions {
  readonly loader: SessionSource;
  readonly files: ModelFiles;
}

interface SharedSession {
  readonly digest: string;
  readonly limit: RunLimit;
  /** Rejects when the load fails. */
  readonly session: Promise<Session>;
  users: number;
  isLoaded: boolean;
}

export class SharedSessions implements SessionSource {
  readonly #options: SharedSessionsOptions;
  readonly #shared = new Map<string, SharedSession>();
  /** Unloads in progress: the same model is not held twice. */
  readonly #unloading = new Map<string, Promise<void>>();

  constructor(options: SharedSessionsOptions) {
    this.#options = options;
  }

  /** Digests of what is loaded, in the order of the loads. */
  loaded(): readonly string[] {
    const digests = [...this.#shared.values()].filter(({ isLoaded }) => isLoaded).map(({ digest }) => digest);
    return [...new Set(digests)];
  }

  async load(spec: LoadSpec): Promise<Session> {
    const { content } = spec;
    if (content === undefined) return this.#options.loader.load(spec);
    const key = keyOf(spec);
    const shared = this.#shared.get(key) ?? this.#begin(key, { ...spec, content });
    shared.users += 1;
    try {
      const session = await shared.session;
      shared.isLoaded = true;
      return new LimitedSession(session, shared.limit, () => this.#release(key, shared, session));
    } catch (error) {
      // The next load tries again.
      if (this.#shared.get(key) === shared) this.#shared.delete(key);
      throw error;
    }
  }

  #begin(key: string, load: ContentLoad): SharedSession {
    const shared: SharedSession = {
      digest: load.content.digest,
      // Without concurrency the worker runs one batch after the other.
      limit: new RunLimit(load.concurrency ?? 1),
      session: this.#loadFound(key, load),
      users: 0,
      isLoaded: false,
    };
    this.#shared.set(key, shared);
    return shared;
  }

  async #loadFound(key: string, load: ContentLoad): Promise<Session> {
    const { loader, files } = this.#options;
    await this.#unloading.get(key);
    const found = await files.find(load);
    const session = await loader.load({ ...load, path: found.path });
    try {
      await found.confirm();
      return session;
    } catch (error) {
      await session.unload();
      throw error;
    }
  }

  async #release(key: string, shared: SharedSession, session: Session): Promise<void> {
    shared.users -= 1;
    if (shared.users > 0) return;
    this.#shared.delete(key);
    const unloading = session.unload().finally(() => this.#unloading.delete(key));
    this.#unloading.set(key, unloading);
    await unloading;
  }
}

/** Everything that a session depends on, but for where its files are and what was found before; the decoder gives loads one order of keys. */
function keyOf({ model: _model, path: _path, folder: _folder, probe: _probe, content, ...settings }: LoadSpec): string {
  return JSON.stringify([content?.digest, content?.file, settings]);
}
