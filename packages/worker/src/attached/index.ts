/** The entry point for programs that run a worker on its own. Importing it loads no engine. */
export { WorkerServer, type WorkerServerOptions } from './worker-server.ts';
