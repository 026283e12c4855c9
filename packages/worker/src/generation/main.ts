/** The worker program for generators: it reads messages of its router between the runs of the model, unlike the one for graphs. */
import { runWorker } from '../run-worker.ts';
import { generatorEngine } from './generator-engine.ts';

runWorker([generatorEngine]);
